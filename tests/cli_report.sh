#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cli_report.sh - imgpar-run --report: a page that is whole, that says what was computed, and in which nothing that comes from names, texts
# or files is markup.
# shellcheck disable=SC2016  # $1 is for the pipeline
. "${srcdir:-.}/tests/common.sh"
[ -x "$imgpar_run" ] || skip "imgpar-run is not built"
scratch

# count TEXT FILE: how often the fixed text stands there.
count() { grep -o -F -e "$1" "$2" | wc -l | tr -d ' '; }
# pictures FILE: the PNGs in it, as 1.png, 2.png ...
pictures() {
    rm -f picture*.png
    n=0
    grep -o 'data:image/png;base64,[A-Za-z0-9+/=]*' "$1" | cut -d , -f 2 > encoded
    while read -r line; do
        n=$((n + 1))
        printf '%s' "$line" | base64 -d > "picture$n.png"
    done < encoded
}
# whole FILE: every element is closed where it should be; attributes have quotes. Elements are counted by a stack of their names.
whole() {
    tr '\n' ' ' < "$1" | sed 's/<!DOCTYPE html>//; s/<style>[^<]*<\/style>//' | grep -o '<[^>]*>' | awk '
        /\/>$/ { next }
        /^<\// { name = substr($0, 3, length($0) - 3); if (stack[n] != name) { print "closes " name " in " stack[n]; exit }; n--; next }
        { name = substr($1, 2); sub(/>$/, "", name); stack[++n] = name }
        END { if (n != 0) print "leaves " stack[n] " open" }'
    ! command -v xmllint > /dev/null || xmllint --noout "$1" 2>&1 | head -n 3
}

# A pipeline file with all there is: params, names, calls within, several results, numbers, what is printed.
"$imgpar_run" -e 'cast(random([60, 80, 3], seed=3) * 255, u8)' -o in.png || fail "in.png"
cat > soft.conf <<'CONF'
# A comment with <b>markup</b> & "quotes"
param sigma = 2
a = open("in.png")      # what is read
soft = blur(a, sigma); g = gray(soft)
save(blend(soft, invert(a), 0.25), "out.png")
far = cast(g, f32) * 3 - 100
print(mean(g), "<i>", sigma)
print(sum(iterate(far, 3, v -> blur(v, 1) * 0.5)))
CONF
"$imgpar_run" soft.conf sigma=1.5 --report=soft.html > soft.txt || fail "soft.conf: status $?"
expect "whole" "$(whole soft.html)" ""
expect "nothing is left beside it" "$(echo soft.html*)" "soft.html"
expect "the comment" "$(count '# A comment with &lt;b&gt;markup&lt;/b&gt; &amp; &quot;quotes&quot;' soft.html)" 1
expect "no markup of others" "$(count '<b>' soft.html) $(count '<i>' soft.html)" "0 0"
expect "no script, nothing from elsewhere" "$(count '<script' soft.html) $(grep -c -E '(src|href)="[^d]|url\((http|//)|@import' soft.html)" "0 0"
expect "the policy forbids both" "$(count "default-src 'none'; img-src data:" soft.html)" 1
expect "the param" "$(count '<code>sigma=1.5</code>' soft.html)" 1
expect "what was printed" "$(count "$(sed -n 's/<i>/\&lt;i\&gt;/; 1p' soft.txt)" soft.html)" 1
# Names are stages, and calls; what is within the loop's function is none, the file is an input.
sed -n '/id="stages"/,/<\/section>/p' soft.html | grep -o '<h3>[^<]*' | sed 's/<h3>//' > titles
cat > want <<'TITLES'
soft
g
invert(a)
blend(soft, invert(a), 0.25)
cast(g, f32)
far
mean(g)
iterate(far, 3, v -&gt; blur(v, 1) * 0.5)
sum(iterate(far, 3, v -&gt; blur(v, 1) * 0.5))
TITLES
expect "the stages" "$(cat titles)" "$(cat want)"
expect "the input" "$(sed -n '/id="inputs"/,/<\/section>/p' soft.html | grep -c '<h3>')" 1
expect "what becomes of one" "$(count 'saved as &quot;out.png&quot;' soft.html)" 1
# Each picture has a text, and numbers are those that the language has.
pictures soft.html
expect "pictures with texts" "$(count '<img' soft.html) $(count 'alt="picture of ' soft.html) $n" "8 8 8"
expect "the first is the input" "$("$imgpar_run" -e 'maxval(absdiff(open("picture1.png"), open("in.png")))')" 0
expect "then what is called soft" "$("$imgpar_run" -e 'maxval(absdiff(open("picture2.png"), blur(open("in.png"), 1.5)))')" 0
expect "the mean of g" "$(sed -n '/<h3>g</,/<\/article>/p' soft.html | grep -c "<td class=\"n\">$("$imgpar_run" -e 'mean(gray(blur(open("in.png"), 1.5)))' | cut -c 1-5)")" 1
expect "the least of far" "$(sed -n '/<h3>far</,/<\/article>/p' soft.html | sed -n 's/.*>min<.*class="n">\([^<]*\)<.*/\1/p')" "$("$imgpar_run" -e 'minval(cast(gray(blur(open("in.png"), 1.5)), f32) * 3 - 100)')"
expect "histograms" "$(($(count 'aria-label="histogram of ' soft.html) > 7))" 1
# Kernels: as many boxes as --explain has, each a row of the table; times; the texts.
kernels=$("$imgpar_run" soft.conf sigma=1.5 --explain=json | grep -c '{"name":')
expect "kernels" "$(count '<g class="kernel">' soft.html) $(count '<code>k_' soft.html | awk '{ print ($1 > 0) }')" "$kernels 1"
"$imgpar_run" --no-fuse --explain=json -e 'invert(blur(open("in.png"), 2))' > plan.json || fail "--explain=json: status $?"
expect "a plan tells what is read and written" "$(count '"array": "in.png", "dtype": "u8", "shape": [1, 60, 80, 3], "bytes": 14400}' plan.json) $(count '"kernel": 0}' plan.json) $(count '"result": 1}' plan.json)" "1 1 1"
expect "and of which stages a kernel is" "$(count '"stages": ["blur: vertical pass", "blur"]' plan.json)" 1
expect "results" "$(count '<g class="result">' soft.html)" 3
for cause in decoding kernels encoding 'writing files' 'opening the device' 'elapsed'; do
    expect "time of $cause" "$(count "<th scope=\"row\">$cause</th>" soft.html)" 1
done
expect "the text of the kernels" "$(($(count '__kernel' soft.html) > 0))" 1
expect "what it saved is what it saves" "$(cp out.png with.png; "$imgpar_run" soft.conf sigma=1.5 > /dev/null; cmp out.png with.png && echo same)" same

# An expression: the result goes nowhere else, or to -o; a number is still printed.
"$imgpar_run" -e 'invert(open("in.png"))' --report=e.html > e.txt || fail "-e: status $?"
expect "-e" "$(whole e.html)$(count 'the result' e.html) $(cat e.txt)" "1 "
"$imgpar_run" -e 'invert(open("in.png"))' -o e.png --report=e.html || fail "-o: status $?"
pictures e.html
expect "-o and the page" "$("$imgpar_run" -e 'maxval(absdiff(open("picture2.png"), open("e.png")))')" 0
expect "a number" "$("$imgpar_run" -e 'maxval(fill(3, 3, 7))' --report=e.html)" 7
expect "a number of a header" "$("$imgpar_run" -e 'width(open("in.png"))' --report=e.html) $(whole e.html)$(count "<pre>80" e.html)" "80 2"
expect "no finite number" "$("$imgpar_run" -e 'zeros([40 30]) / 0 * 0' --report=e.html)$(whole e.html) $(grep -c '1200 NaN, 0 infinite' e.html)" " 1"
expect "volumes, many channels" "$("$imgpar_run" -e 'zeros([3 20 30 7])' --report=e.html)$(whole e.html) $(grep -c 'plane 1 of 3, the first channel' e.html)" " 1"
expect "complex numbers" "$("$imgpar_run" -e 'abs(fft(gray(open("in.png"))))' --report=e.html)$(whole e.html) $(count 'complex64, as magnitudes' e.html)" " 1"
expect "a few rows are lines" "$("$imgpar_run" -e 'histogram(open("in.png"))' --report=e.html)$(whole e.html) $(count 'path class="line ' e.html)" " 3"
expect "nothing at all" "$("$imgpar_run" -e 'zeros([0 30])' --report=e.html 2>&1)$(whole e.html) $(count 'it has no elements' e.html)" "[] 1"

# What is printed and saved before it is as without a page.
expect "prints" "$("$imgpar_run" -e 'print("hello"); a = open("in.png"); print (maxval(fill(3, 3, 7))); invert(a)' --report=e.html)$(whole e.html) $(count 'printed' e.html | awk '{ print ($1 > 0) }')" "hello
7 1"
"$imgpar_run" -e 'a = open("in.png"); save(a, "saved.png"); invert(a)' -o e.png --report=e.html || fail "save() and -o: status $?"
expect "save() and -o" "$("$imgpar_run" -e 'maxval(absdiff(invert(open("saved.png")), open("e.png")))')" 0
"$imgpar_run" -e 'invert($1)' in.png --report=e.html || fail "of a file: status $?"
expect "of a file" "$(whole e.html)$(count 'the result' e.html)" "1"
expect "numbers too far apart" "$("$imgpar_run" -e 'mean((cast(random([80 80], seed=1) < 0.5, f64) * 2 - 1) * 1.5e308 * 0) + ((cast(random([80 80], seed=1) < 0.5, f64) * 2 - 1) * 1.5e308)' --report=e.html)$(whole e.html)" ""

# A stage is one of what the run read: where the run itself replaced that there is none.
cp in.png own.png
"$imgpar_run" -e 'a = open("own.png"); b = invert(a); save(b, "own.png")' --report=own.html || fail "its own input: status $?"
expect "its own input" "$(whole own.html)$(count 'wrote the file that it reads, own.png' own.html) $(count '<img' own.html) $(count 'Not shown, for the same reason.' own.html)" "1 0 1"
cp in.png made.png
"$imgpar_run" -e 'save(invert(open("in.png")), "made.png")' --report=own.html || fail "what is only written: status $?"
expect "what is only written" "$(count '<img' own.html)" 2

# Numbers: whole ones have all digits, and numbers too far apart are told and drawn.
"$imgpar_run" -e 'print(cast(numbers([1 0.5 3]), f64) * 2000000002)' --report=n.html > n.txt || fail "numbers: status $?"
expect "whole numbers" "$(count '<td class="n">1000000001</td>' n.html) $(count '<td class="n">6000000006</td>' n.html) $(count '<td class="n">3000000003</td>' n.html)" "1 1 1"
"$imgpar_run" --device=ref -e 'print((cast(numbers([1 0 1 0]), f64) - 0.5) * 2 * 1.5e308)' --report=n.html > n.txt || fail "far apart: status $?"
expect "far apart" "$(count '<td class="n">-1.5e+308</td>' n.html) $(grep 'class="line' n.html | grep -c -i nan)" "1 0"
"$imgpar_run" --device=ref -e 'a = (cast(random([80 80], seed=1), f64) - 0.5) * 1.6e308 * 2; save(a, "a.npy")' --report=n.html || fail "a picture of them: status $?"
pictures n.html
expect "and as a picture" "$(grep -c -E 'black is -1\.[0-9]+e\+308, white 1\.[0-9]+e\+308' n.html) $("$imgpar_run" -e "minval(open(\"picture$n.png\")) - maxval(open(\"picture$n.png\"))")" "1 -255"
"$imgpar_run" -e 'a = open("in.png"); save(crop(a, 0, 0, 9, 9), "printed.png"); print(mean(crop(a, 0, 0, 9, 9))); print (blur (crop(a, 0, 0, 2, 2), 1)); print(blur (crop(a, 0, 0, 2, 2), 1))' --report=n.html > n.txt || fail "notes: status $?"
expect "each note once" "$(grep -o 'note">[ps][ra][^n<][^<]*' n.html | tr '\n' ' ')" 'note">saved as &quot;printed.png&quot; note">printed note">printed '

# Many: 40 stages are shown; of kernels so many that a graph of them would be hard to read there is a table.
awk 'BEGIN { print "a0 = open(\"in.png\")"; for (k = 1; k <= 60; k++) printf "n%d = %d; a%d = a%d + %d\n", k, k, k, k - 1, k % 3; print "print(mean(a60))" }' > many.conf
"$imgpar_run" many.conf --report=many.html > many.txt || fail "many stages: status $?"
expect "40 stages" "$(sed -n '/id="stages"/,/<\/section>/p' many.html | grep -c '<h3>') $(count ' more are not shown' many.html)" "40 1"
awk 'BEGIN { print "b0 = open(\"in.png\")"; for (k = 1; k <= 100; k++) printf "b%d = blur(b%d, 1)\n", k, k - 1; printf "print(mean(cast(b0, f32)"; for (k = 100; k > 0; k -= 3) printf " + b%d", k; print "))" }' > many.conf
"$imgpar_run" many.conf --no-fuse --report=many.html > many.txt || fail "many kernels: status $?"
expect "too many bends" "$(whole many.html)$(count 'They are too many to be drawn.' many.html) $(count 'class="graph"' many.html)" "1 0"

# Hostile names: markup, quotes, a line's end, bytes that are no UTF-8.
hostile=$(printf "<script>alert(1)<!-- &\"'\377\001\n.png")
if cp in.png "$hostile" 2> /dev/null; then
    "$imgpar_run" -e 'soft = blur($1, 1); invert(soft)' "$hostile" -o h.png --report=h.html || fail "a hostile name: status $?"
    expect "it is text" "$(whole h.html)$(count '<script' h.html) $(count '<!--' h.html) $(count "$(printf '&lt;script&gt;alert(1)&lt;!-- &amp;&quot;&#39;\357\277\275\357\277\275')" h.html | awk '{ print ($1 > 3) }')" "0 0 1"
    expect "and valid UTF-8" "$(iconv -f UTF-8 -t UTF-8 h.html 2>&1 > /dev/null)" ""
    expect "\$1 stays \$1" "$(count 'blur($1, 1)' h.html)" 2
fi
expect "text that could end its element" "$("$imgpar_run" -e '"</pre><script>" == "x" ? 1 : 2 # </pre>' --report=x.html)$(whole x.html) $(count '<script' x.html)" "2 0"

# Written whole or not at all, and not over what the run itself needs.
says() { expect "$1" "$("$imgpar_run" "$@" 2>&1 < /dev/null; echo $?)" "$want"; }
want="imgpar-run: --report=in.png: a name that ends in .html is expected
2"
says --report=in.png -e 'open("in.png")'
cp in.png read.html
want="imgpar-run: --report=read.html is a file that the run reads or writes itself
2"
says --report=read.html -e 'invert(open("read.html"))'
ln -s read.html other.png
says --report=read.html -e 'invert(open("./other.png"))'
says --report=read.html -e 'save(zeros([3 3]), "other.png")'
says --report=read.html -e 'mean(open("in.png"))' --trace=read.html
echo 'param of = "in.png"; print(mean(open(of)))' > of.conf
says --report=read.html of.conf of=other.png
expect_same "it is as it was" in.png read.html
want="imgpar-run: --report=trace.html is a file that the run reads or writes itself
2"
says --report=trace.html -e 'mean(open("in.png"))' --trace=trace.html
mkdir folder.html
want="imgpar-run: --report=folder.html: Is a directory
1"
says --report=folder.html -e 'print("nothing runs before")'
echo old > real.html && chmod 640 real.html && ln -s real.html link.html
"$imgpar_run" --report=link.html -e '1 + 1' > link.txt || fail "a link: status $?"
expect "a link stays one, and the mode" "$(find link.html -type l) $(find real.html -perm 640) $(whole real.html)$(ls real.html?* 2> /dev/null)" "link.html real.html "
want="imgpar-run: --report=none/x.html: No such file or directory
1"
says --report=none/x.html -e '1 + 1'
want="imgpar-run: --report=x.html is a file that the run reads or writes itself
2"
cp in.png x.html
says --report=x.html -e '$1' x.html -o y.png
want="imgpar-run: --report is of one picture; of several files, a video or standard input there is none
2"
says --report=y.html -e 'invert($1)' in.png out.png -o 'x{name}.png'
mkdir folder && cp in.png folder
says --report=y.html --recursive -e 'invert($1)' folder -o 'x{name}.png'
printf 'YUV4MPEG2 W2 H2 F1:1 C444\nFRAME\n123412341234' > v.y4m
says --report=y.html -e 'invert($1)' v.y4m -o w.y4m
says --report=y.html -e 'invert($1)' - -o w.png
want="imgpar-run: --explain and --report do not go together: --explain computes nothing (--help lists the options)
2"
says --report=y.html -e 'invert(open("in.png"))' --explain
"$imgpar_run" --report=y.html -e 'open("in.png") + open("none.png")' 2> /dev/null && fail "a missing file is no error"
expect "a run that fails leaves no page" "$(ls y.html* w.* 2> /dev/null)" ""
finish
