import{a as Z}from"./part-5FSWTYIZ.js";import{a as C}from"./part-CJ7PO2G3.js";import{b as j,c as L}from"./part-WZ2LJ2XX.js";import"./part-6TOR57AR.js";import"./part-IGXS2ZFZ.js";import"./part-VWTYBNXW.js";import{C as D,D as O,H as I,I as F,K as N}from"./part-QB3R7TJH.js";import{d as W,e as E}from"./part-ZI6UM6L2.js";import{a as H}from"./part-KNQW4K6B.js";import{b as $}from"./part-5R6LA7L4.js";import"./part-ZHH2GZYI.js";import"./part-S3OVHGAZ.js";import"./part-K4SABGCS.js";function pe({motif:e,colours:[t,a,o]}){return q(1200,800,[`<defs><linearGradient id="g" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="${o}"/><stop offset="1" stop-color="${h(o,a,.45)}"/></linearGradient></defs>`,'<rect width="1200" height="800" fill="url(#g)"/>',...me[e](t,a,o)])}function we({colours:[e,t,a,o],hair:n}){let r=h(t,a,.22),i={bun:p(200,84,46,a)+p(200,176,98,a),curls:f(11).map(s=>{let l=Math.PI*(.94+.112*s);return p(200+92*Math.cos(l),190+92*Math.sin(l),42,a)}).join(""),short:p(200,164,94,a)}[n];return q(400,400,[`<rect width="400" height="400" fill="${e}"/>`,i,`<path d="M40 400 Q52 300 150 292 H250 Q348 300 360 400 Z" fill="${o}"/>`,`<path d="M162 240 H238 V296 Q200 338 162 296 Z" fill="${r}"/>`,`<ellipse cx="200" cy="196" rx="74" ry="88" fill="${t}"/>`,`<path d="M124 190 Q128 108 200 106 Q272 108 276 190 Q258 138 200 ${n==="short"?150:140} Q142 138 124 190 Z" fill="${a}"/>`,...[172,228].map(s=>p(s,202,6,h(a,"#000000",.5))),`<path d="M174 238 Q200 258 226 238" fill="none" stroke="${h(a,"#000000",.3)}" stroke-width="5" stroke-linecap="round"/>`])}var Q=e=>B(pe(e),1200,800),R=e=>B(we(e),400,400);async function B(e,t,a){let o=new Image(t,a);o.src=`data:image/svg+xml,${encodeURIComponent(e)}`,await o.decode();let n=document.createElement("canvas");return n.width=t,n.height=a,n.getContext("2d")?.drawImage(o,0,0,t,a),new Promise((r,i)=>n.toBlob(s=>s?r(s):i(new Error("The browser drew no picture.")),"image/png"))}var me={books:(e,t,a)=>{let o=f(15).map(r=>{let[i,s]=[48+13*(r*7%4),330+38*(r*5%6)],l=[e,t,h(e,a,.35),h(t,e,.45)][r*3%4];return{width:i,height:s,fill:l??e}}),n=84;return[...o.flatMap(({width:r,height:i,fill:s},l)=>{let[u,c]=[n,660-i];n+=r+6;let d=h(s,a,.7);return[`<rect x="${u}" y="${c}" width="${r}" height="${i}" rx="5" fill="${s}"/>`,`<rect x="${u}" y="${c+40+9*(l%3)}" width="${r}" height="6" fill="${d}"/>`,`<rect x="${u}" y="590" width="${r}" height="14" fill="${d}" opacity="0.8"/>`]}),`<rect x="0" y="660" width="1200" height="22" fill="${e}"/>`,`<rect x="0" y="682" width="1200" height="118" fill="${e}" opacity="0.12"/>`]},clock:(e,t,a)=>[p(600,430,330,e,.14),p(600,405,310,e),p(600,405,274,h(a,"#ffffff",.5)),...f(12).map(o=>{let n=o%3===0;return`<rect x="${n?593:596}" y="151" width="${n?14:8}" height="${n?44:26}" rx="4" fill="${e}" transform="rotate(${30*o} 600 405)"/>`}),`<rect x="590" y="255" width="20" height="176" rx="10" fill="${e}" transform="rotate(-52 600 405)"/>`,`<rect x="593" y="195" width="14" height="240" rx="7" fill="${e}" transform="rotate(38 600 405)"/>`,`<rect x="597" y="180" width="6" height="280" rx="3" fill="${t}" transform="rotate(150 600 405)"/>`,p(600,405,18,t)],contours:(e,t,a)=>[...f(9).map(o=>{let n=h(a,t,.06+.09*o);return`<path d="${ye(690,400,520-56*o,1+o/9)}" fill="${n}" stroke="${e}" stroke-opacity="0.45" stroke-width="${o%3?2:4}"/>`}),`<path d="M-20 690 C180 560 240 700 420 590 S600 330 760 300" fill="none" stroke="${e}" stroke-width="9" stroke-dasharray="26 18" stroke-linecap="round"/>`,`<path d="M760 300 c-60 -76 -52 -150 0 -150 s60 74 0 150 Z" fill="${e}"/>`,p(760,202,20,a)],hills:(e,t,a)=>[p(850,240,150,t,.25),p(850,240,96,t),...f(6).map(o=>{let n=h(h(a,t,.5),e,.12+.17*o);return`<path d="${T(330+82*o,74-7*o,1.7*o)}" fill="${n}"/>`})],leaves:(e,t,a)=>[{x:330,tilt:-14,size:.86,fill:h(e,a,.5)},{x:880,tilt:12,size:.92,fill:h(t,a,.25)},{x:600,tilt:-2,size:1.1,fill:e}].map(({x:o,tilt:n,size:r,fill:i})=>{let s=f(8).flatMap(l=>[-1,1].map(u=>{let[c,d]=[-90-66*l,(190-15*l)*u];return`<path d="M0 ${c} Q${d*.35} ${c-92} ${d} ${c-84} Q${d*.72} ${c+12} 0 ${c} Z" fill="${u>0?i:h(i,a,.18)}"/>`}));return`<g transform="translate(${o} 830) rotate(${n}) scale(${r})"><path d="M0 0 Q14 -320 0 -660" fill="none" stroke="${i}" stroke-width="9" stroke-linecap="round"/>${s.join("")}<path d="M0 -640 q-34 -56 0 -120 q34 64 0 120 Z" fill="${i}"/></g>`}),lighthouse:(e,t,a)=>[`<rect width="1200" height="800" fill="${e}"/>`,...f(46).map(o=>p(o*263%1200,o*149%520,1.5+o%3,a,.65)),`<path d="M812 236 L-40 90 V330 Z" fill="${t}" opacity="0.32"/>`,`<path d="M828 236 L1240 170 V300 Z" fill="${t}" opacity="0.32"/>`,`<path d="M766 640 L786 280 H854 L874 640 Z" fill="${a}"/>`,...f(2).map(o=>`<path d="M${780-7*o} ${390+130*o} h${80+14*o} l4 66 h-${88+14*o} Z" fill="${h(e,t,.35)}"/>`),`<rect x="774" y="266" width="92" height="16" rx="4" fill="${h(a,e,.45)}"/>`,`<rect x="790" y="206" width="60" height="60" fill="${t}"/>`,`<path d="M782 206 H858 L820 158 Z" fill="${h(a,e,.45)}"/>`,`<path d="M560 800 Q640 610 790 634 T1240 700 V800 Z" fill="${h(e,"#000000",.45)}"/>`,...f(3).map(o=>`<path d="${T(690+44*o,12,2*o)}" fill="${h(e,t,.16-.05*o)}" opacity="0.85"/>`)],loaf:(e,t,a)=>[`<ellipse cx="600" cy="640" rx="470" ry="86" fill="${e}" opacity="0.22"/>`,`<rect x="120" y="590" width="960" height="64" rx="32" fill="${h(e,t,.4)}"/>`,`<path d="M220 600 C190 320 380 200 600 200 S1010 320 980 600 Q600 660 220 600 Z" fill="${e}"/>`,`<path d="M254 560 C250 340 410 236 600 236 S950 340 946 560 Q600 600 254 560 Z" fill="${h(e,t,.3)}"/>`,...f(4).map(o=>{let n=372+128*o;return`<path d="M${n} 520 Q${n-6} 360 ${n+74} 282 Q${n+44} 400 ${n+44} 520 Z" fill="${h(t,a,.35)}"/>`}),...f(40).map(o=>p(280+o*397%650,290+o*181%260,2+o%3,a,.7))],papers:(e,t,a)=>[...[{x:250,y:150,turn:-9,paper:h(a,t,.55)},{x:470,y:96,turn:6,paper:h(a,"#ffffff",.35)},{x:360,y:130,turn:-2,paper:h(a,"#ffffff",.85)}].map(({x:o,y:n,turn:r,paper:i},s)=>{let l=f(11).map(u=>{let c=[360,372,340,366,210][(u+2*s)%5];return`<rect x="60" y="${150+44*u}" width="${c}" height="11" rx="5" fill="${e}" opacity="${s===2?.55:.25}"/>`});return`<g transform="translate(${o} ${n}) rotate(${r} 240 340)"><rect x="10" y="16" width="480" height="700" rx="10" fill="${e}" opacity="0.14"/><rect width="480" height="700" rx="10" fill="${i}"/><rect x="60" y="74" width="250" height="26" rx="8" fill="${e}" opacity="${s===2?.9:.35}"/>${l.join("")}</g>`}),`<path d="M424 384 q60 -26 120 0 t120 0 t96 -6" fill="none" stroke="${h(t,"#b02a1c",.7)}" stroke-width="8" stroke-linecap="round"/>`,`<path d="M700 560 q90 -60 60 20 t80 10" fill="none" stroke="${h(t,"#b02a1c",.7)}" stroke-width="8" stroke-linecap="round"/>`,`<g transform="translate(905 230) rotate(24)"><rect width="40" height="400" rx="6" fill="${e}"/><rect width="14" height="400" fill="#ffffff" opacity="0.14"/><path d="M0 400 H40 L20 468 Z" fill="${h(t,"#ffffff",.4)}"/><path d="M14 446 H26 L20 468 Z" fill="${e}"/></g>`],waves:(e,t,a)=>[p(390,250,96,h(t,"#ffffff",.45)),...f(7).map(o=>{let n=h(h(a,t,.6),e,.15+.14*o);return`<path d="${T(350+68*o,16+3*o,2.3*o,3)}" fill="${n}"/>`}),...f(5).map(o=>`<rect x="${390-(70-10*o)}" y="${382+42*o}" width="${140-20*o}" height="7" rx="3" fill="#ffffff" opacity="0.5"/>`)]};function T(e,t,a,o=1){return`M0 800 L${f(61).map(r=>{let[i,s]=[20*r,o*r/9+a],l=e+t*(Math.sin(s)+.5*Math.sin(2.3*s+1)+.2*Math.sin(5.1*s));return`${i} ${l.toFixed(1)}`}).join(" L")} L1200 800 Z`}function ye(e,t,a,o){return`M${f(73).map(r=>{let i=2*Math.PI*r/72,s=a*(1+.13*Math.sin(2*i+o)+.08*Math.sin(3*i-o));return`${(e+1.25*s*Math.cos(i)).toFixed(1)} ${(t+.86*s*Math.sin(i)).toFixed(1)}`}).join(" L")} Z`}function p(e,t,a,o,n=1){return`<circle cx="${e.toFixed(1)}" cy="${t.toFixed(1)}" r="${a}" fill="${o}" opacity="${n}"/>`}function h(e,t,a){return`#${[1,3,5].map(n=>{let[r,i]=[e,t].map(s=>Number.parseInt(s.slice(n,n+2),16));return Math.round((r??0)*(1-a)+(i??0)*a)}).map(n=>n.toString(16).padStart(2,"0")).join("")}`}function q(e,t,a){return`<svg xmlns="http://www.w3.org/2000/svg" width="${e}" height="${t}" viewBox="0 0 ${e} ${t}">${a.join("")}</svg>`}var f=e=>Array.from({length:e},(t,a)=>a);var G='# Name your backups so that they sort\n\nThere is a folder on somebody\'s disk right now that holds `backup`, `backup2`, `backup_new`, `backup_final` and `backup_final_really`. One of them is the good one. Finding out which costs an evening, and it is always the evening on which there is no time.\n\nTwo rules end this for good.\n\n**Rule one: the date comes first, largest part first.** Then every tool in the world sorts your files by age without being asked.\n\n```sh\nstamp=$(date -u +%Y-%m-%dT%H%MZ)\ntar --create --file "photos-$stamp.tar.partial" ~/photos\n```\n\nNo colons, since some file systems refuse them. `Z` says that it is UTC, so that nobody has to remember in which week the clocks changed.\n\n**Rule two: a file gets its name when it is finished.** Write to `….partial`, and rename at the end. A rename either happens or does not; there is no half of it. Whatever ends with `.tar` is then whole, by definition, even if the power went out at the worst moment.\n\n```sh\nmv "photos-$stamp.tar.partial" "photos-$stamp.tar"\n```\n\nNow cleaning up is one line too. Keep the newest seven, list the rest:\n\n```sh\nls photos-*.tar | sort --reverse | tail --lines +8\n```\n\nLook at that list for a week before you put `xargs rm` behind it.\n\nOne more thing, which is not about names. A backup that was never restored is a rumour. Once a month, take the newest file, unpack it somewhere else, and open one picture in it. Write the day on a piece of paper next to the machine. It is the cheapest test you will ever run, and the only one that answers the question you will actually have.\n';var Y=`# How to read a balance sheet like a novel

People who would never skip to the end of a story open an annual report at the last page and look for the profit. That is the ending. It has been rewritten eleven times, by a committee. Begin where nobody polishes.

**Read the setting first.** The left side lists what the company has. Ask which of it you could kick with your foot. Machines, stock, a building: fine. Then comes *goodwill*, which is what they once paid for something beyond what it was worth. It is the company's memory of having been in love.

**Then find out who owes whom.** The right side is the cast. There are people who must be paid on Friday (suppliers, the tax office), people who must be paid some day (the bank), and people who were never promised anything: the owners. A story in which those of Friday are more than the cash on the left has a plot already, whatever the letter to the shareholders says.

**Compare two years, line by line, and look only for what moved.** One line is always more restless than it should be:

- *Receivables* that grow faster than sales: customers who love the product and do not pay for it.
- *Inventory* that grows while sales sleep: somebody is building shelves for things that will be explained later.
- *Other*. If "other" is among the three largest numbers, you have found the room that the guests are not shown.

**Read the notes as you would letters in a drawer.** The main text is for the public; the notes are where the lawyers made them tell the truth, in the smallest type and the passive voice. "It was decided" is a sentence from which a person has been removed. Which one?

**Only now, the ending.** You will find that you already knew it. What you look for is not whether the number is large, but whether it *follows*.

The best ones do. There is a small brewery whose reports I read every spring for pleasure. It has owned the same horse for nineteen years, at a value of one.
`;var V=`# In praise of the footnote

A footnote is a book's way of lowering its voice. The page goes on speaking to everyone; the footnote leans over and says something to you.[1]

It gets a bad name from people who use it for shelter. They put there what they do not dare to say above, or what they could not bear to cut, and so the bottom of the page fills up like the cupboard under the stairs.[2] But a cupboard is not to blame for what is put into it.

The good footnote does one of three things.

It *pays a debt*: this is where I have it from, go and look. It *keeps a promise*: I said that I would be brief, so here, for those who want it, is the rest. Or it *opens a window*: the sentence above is going somewhere and must not stop, but look, quickly, over there.

> The text is the road. The note is the bench beside it. Nobody ever arrived later for having known that there was a bench.

That is what the old schoolmaster in our town used to say, and he put benches everywhere. His history of the parish has nine chapters and four hundred notes, and the parish reads only the notes.[3]

On screens the footnote has fallen on hard times. It became a link, and a link is not a lowered voice but a hand on your sleeve. You follow it, and when you look up you are in another building. I should like to see it come home: down there, at the foot, in smaller type, waiting. It does not want to be clicked. It wants to be *noticed*, and then left, with a little regret, for later.

---

**1.** Like this. You did not have to come down here, and now we know something about you.

**2.** I once owned a study of bridges in which note 14 was longer than the bridge.

**3.** Note 212 is about a goose. I am not going to tell you more; it would not be the same without the climb.
`;var _=`# A small grammar of maps

Maps have parts of speech, like any language, and most bad maps are bad sentences.

**Nouns are the places.** A map that has only nouns is a list with a sense of direction. It answers *where is it?* and nothing else. Many maps on walls in offices are like that: forty pins and no verb.

**Verbs are the lines.** Roads, rivers, borders: something goes, or flows, or ends there. The first thing to ask a line is what it does. If it does nothing, rub it out. A contour does something: it promises that you can walk along it and never get out of breath.

**Adjectives are the colours.** Two are enough to say a great deal. With seven you are shouting, and with twelve you need a legend, which is a map's way of apologizing.

**Tense** is where maps are weakest. A printed map says *is* of everything, of the church that has stood for eight hundred years and of the petrol station. The sea charts of sailors are better at it. They write *reported 1911* beside a rock, and leave it to you whether you want to be the one who checks.

**Negation** is rarer still. The white spaces of old maps said *we do not know*. Ours are never white; where nothing is known, we draw a plausible green. I trust a map more that can say no.

And then there is **the first person**. Every map has one, hidden: a point from which all this was worth drawing. On the plan of a town it is the station, because the plan was made for those who arrive. On a child's drawing of the way to school it is a dog, seen over a wall, of enormous size, with the school behind it quite small.

If you want to understand a map, find its dog.
`;var U=`# Inventory of a harbour in November

One crane, retired, still pointing\\
at the place where the last ship was.\\
Two dogs who know each other's business.\\
A net, mended in three kinds of green.

Item: the ferry's one lit window\\
and the cook inside it, singing\\
something that needs a second voice.\\
Item: the second voice, on the quay,\\
not knowing it is wanted.

Ropes, coiled by a left-handed man.\\
A barometer that has said *change*\\
since before the bank was a café.\\
Salt, on everything, like an opinion.

Eleven gulls in a row, facing the wind\\
as people face a speech.\\
One that has turned around.

The tide table, out of date by a year,\\
kept for the handwriting in its margin:\\
*too rough — too rough — fair — saw her —\\
too rough.*

And in the lee of the ice house, stacked\\
against a spring nobody has promised,\\
forty new crates, still smelling of forest,\\
each stencilled in blue with the name of the town\\
and, under it, smaller, as one adds a wish:

*return.*
`;var z=`# Forty minutes with a heron

*Weir below the mill, 7:10 to 7:50. Four degrees, no wind, mist to about the height of a fence.*

**7:10.** It is already there when I arrive, or rather it has never been anywhere else. It stands on the lip of the weir with the water parting round its legs. I stop on the path. It gives me one eye, decides that I am furniture, and goes back to work.

**7:16.** Nothing has happened six times. I count a nothing whenever it leans forward by the width of a finger and then does not strike. Each time something silver goes by that I cannot see, and it has a reason not to want it.

**7:21.** A jogger on the other bank. The heron does not move its body; it gets *thinner*. I would not have believed that a bird can turn its volume down. When the steps are gone it puts itself back on, feather by feather.

**7:29.** I notice that I am breathing with it. Also that my left foot is wet, and must have been for some time.

**7:33.** Strike. It is not fast as a snake is fast. It is fast as a dropped knife is: no hurry in it at all, only the end of a long permission. A roach, hand-length. The heron turns it in its bill, twice, the way one turns a key that has two sides, and swallows. The neck shows where the fish is for longer than seems polite.

**7:34.** It drinks. It shakes itself. For a moment it looks like an old umbrella that somebody has been unkind to, and then it is a heron again.

**7:41.** Mist lifting. Now I can see what it saw all along: where the current folds over the sill there is a seam, a hand wide and quite clear, like a window in a bathroom. Everything that swims downstream has to cross it. It had not been waiting for a fish. It had been waiting at a door.

**7:50.** It leaves before I do, without effort and without looking back, trailing its legs like an afterthought.

*Seen besides: one wagtail, one kingfisher (heard), my breath.*
`;var K=`# What a kilometre costs

For one year I wrote down every journey: how far, how long, what it cost, and one word for what it was like. I expected to learn something about money. I learned something about windows.

| by | kilometres | hours | paid | per km | the word most often |
|---|---:|---:|---:|---:|---|
| foot | 1 412 | 331 | 2 pairs of shoes | 0.11 | *oh* |
| bicycle | 2 960 | 187 | 214 | 0.07 | *wind* |
| train | 8 105 | 96 | 1 377 | 0.17 | *window* |
| bus | 640 | 29 | 148 | 0.23 | *late* |
| car, other people's | 1 870 | 24 | petrol and cake | 0.09 | *talk* |
| ferry | 58 | 5 | 41 | 0.71 | *again* |

The dearest kilometre by far was the ferry's, and it is the only line of which I would buy more at the same price. The cheapest was the bicycle's, if you do not count the jacket.

Then I added a column that I had not planned: *what I can still tell about it.* Of the train I could tell nearly every journey, in order, by what had been outside. Of the bus, two. Of walking, the strange thing was that I could not tell the journeys at all, but could draw the hedges.

So I tried a different sum. Not money per kilometre, but kilometres per thing remembered:

- on foot, one in every four;
- by bicycle, one in thirty;
- by train, one in ninety;
- by bus, one in three hundred and twenty.

I do not say that you should walk to work. I say that if you ever wonder where a year has gone, it may be worth looking at what you were sitting behind.

*Money is in euros, before anybody asks; cake was not converted.*
`;var J=`# The lamp trimmer's apprentice

When the light was made electric, they kept the lamp trimmer on, because nobody had thought to write down that he should go. He came up the hundred and twelve steps every evening as before, looked at the bulb, which had no wick, and sat down beside it with his scissors in his lap.

In the second winter they sent him an apprentice.

"What do I learn?" asked the girl.

"What does the paper say?"

She had the paper with her. It had been printed in the year of the old king, and it said that the apprentice should learn to keep the light.

"Then we had better begin," said the trimmer.

<!--more-->

He taught her to climb without counting, so that her breath would last. He taught her the ships by their engines: the collier that coughed, the mail that hummed through its nose. He taught her to see weather in the oil, and when she said that there was no oil, he said that this was the difficulty, and that she would have to look harder.

In the spring she could tell by the taste of the rail whether there would be fog. By summer the boats that passed had begun to sound their horns, once, going by, because somebody up there always lifted a hand before they came in sight.

He died in the autumn, in his chair, on the right side of the lamp. She wrote to the harbour office that the post was vacant. The office answered that no such post existed, and that, furthermore, according to its records, no apprentice had ever been sent.

She read the letter twice. Then she read the old paper again, and saw what she had taken for a printer's mark, at the very bottom, in a careful hand and brown ink: *Received one boy, in the year of the great ice. He will do. He asks what he is to learn.*

That night the current failed along the whole coast. For an hour there was no light from the point to the islands but one; and those who were at sea said afterwards that it had not been very bright, and a little yellow, and that it had leaned now and then, as if someone were shielding it with a hand.
`;var X=`# Letter to the next tenant

You will find the garden before you find the fuse box, so I begin with that.

The apple tree against the wall is not dead. It will seem so until the second week of May, and you will be advised by everybody, including the man who reads the meter, to take it down. Wait. It has always been late. It bears every other year, small and sour and far too many, and in the years between it thinks.

Under the kitchen window there is mint. There will be mint. You may have plans for that bed; the mint has heard plans before.

The blackbird owns the corner by the water butt. He will let you hang out washing there if you do it before eight, and he objects to blue. I do not know why. I have tested it.

Do not dig where the three flat stones are. That is where the cat lies, who was called Minister, and who came with the house when *I* did, with a letter like this one. It said that he liked the heel of the bread, and that he would come in of his own accord when he had made up his mind about me. It took until October.

The gate sticks. You can plane it, and in August you will be glad; but in winter it will swing, and the whole street will hear that you are not at home. I decided to let it stick.

There are things here that I never found out: who planted the white crocus in the middle of the lawn, so exactly in the middle; why the soil by the fence is full of oyster shells, this far from the sea; and what it is that flowers at night, in June, somewhere to the left, so that one stands at the open window and cannot go to bed.

If you find out, please do not write and tell me.

The fuse box is behind the door of the larder, by the way. It is labelled. The labels are wrong, but they are wrong in a consistent manner, and you will get used to it.
`;var ee=`# Rye bread for people who forget things

This bread does not mind being forgotten. That is its whole character. Every step has a window of several hours, and if you miss it, the loaf becomes a little more sour and a little more interesting, like most of us.

You need a live rye starter, a tin of about one and a half litres, and a day on which you will be near the kitchen twice.

| | evening | morning | together |
|---|---:|---:|---:|
| rye flour, wholegrain | 200 g | 300 g | 500 g |
| water, as warm as your hand | 200 g | 250 g | 450 g |
| starter | 20 g | | 20 g |
| salt | | 10 g | 10 g |
| dark syrup | | a spoonful | |

**Evening.** Stir the flour, water and starter in a large bowl until nothing is dry. Cover it. Go away.

**Morning**, or noon if that is when your morning is. The bowl should smell of apples and have holes like a sponge. Add everything else and stir for as long as it takes to hear the weather. Do not knead: rye has nothing to knead. It will look like wet cement, and it should.

Scrape it into the buttered tin, smooth the top with a wet hand, and scatter flour over it. Now forget it again. In a warm room it needs two hours; in a cold one, four. It is ready when the flour on top has cracked like the bed of a dry river.

**Bake** at 240 °C for fifteen minutes, then at 180 °C for fifty. Take it out of the tin and knock: it answers with a low note.

> The one rule my aunt was strict about: do not cut it on the same day. "It is not finished," she said. "It has only stopped being dough."

Keep two spoonfuls of the evening's bowl in a jar in the fridge. That is the next loaf.
`;var te=`# The second draft is written by somebody else

The first draft belongs to the person who had the idea. That person is excited, a little careless, and convinced that everyone already agrees. They write long sentences because they have not yet found out what they think, and they leave the best one in the middle of the fourth paragraph, where nobody will look for it.

Then you sleep. In the morning another person sits down at the same table. This one did not have the idea. They only find it there, lying about in eleven paragraphs, and they have a train to catch.

I used to try to be both people at once: to write a sentence and judge it before the full stop. It is like cooking while somebody clears the table. Nothing gets eaten, and nothing gets clean.

So now I keep them apart on purpose. The first may not delete. The second may not add, at least not in the first hour; they may only move and remove. It is surprising how often a text that seemed to lack something merely had its beginning in the wrong place.

Three things the second person always asks, in this order:

1. *What is this for?* If the answer needs a comma, there are two texts here.
2. *Where does it start?* Usually at the third paragraph. The first two were the author clearing their throat.
3. *Who is the last line for?* If it is for the author, it goes.

The hard part is not severity. It is manners. The second person has to treat the first as one treats a friend who has turned up at midnight with a plan: with coffee, with attention, and with the firm intention of sending them home before it gets light.

What is left in the morning is the piece.
`;var oe=`# A clock that is wrong on purpose

In the signal box where my uncle worked there were two clocks. One was right. The other was four minutes fast, and had been set so, every Monday, for thirty years.

Visitors always pointed it out to him. He thanked them.

The fast clock was the one that you could see from the platform. The right one hung behind the levers, where only the signalman saw it. In the four minutes between them lived everybody who was late: the woman with the cello, the twins, the doctor, who in his whole career never once caught a train with his coat buttoned. They came round the corner, looked up, saw that it was hopeless, and ran. And then, by a miracle that they never examined, they caught it.

I build systems for a living now, and I think of that clock often, because we have forgotten how to build it. Our clocks are all right. They agree with one another to the millisecond, and so everything that depends on them happens at the same moment: every cache expires, every job starts, every client that was told to try again in sixty seconds tries again in sixty seconds, all of them, shoulder to shoulder, like a crowd on a bridge.

The cure has a dull name, *jitter*, and is nothing but my uncle's clock with dice in it:

\`\`\`python
pause = base * (0.5 + random())  # nobody arrives with everybody
\`\`\`

But what I admire in the old arrangement is not the slack. Any engineer can add slack. It is that he knew *whom to tell the truth*. The levers got the exact time, since a wrong minute there is two trains on one track. The people got the kind time. He never mixed them up, and he never explained it, because a margin that is known about is spent by Wednesday.

When they closed the box, the fast clock came to me. It is over my desk, and it is four minutes fast.

I know that it is. I still run.
`;var[m,k,x,g,ae,He,,b]=[0,1,2,3,4,5,6,7],ne=new Map([[m,{name:"Ada Lindqvist",bio:"Essays, letters and the odd poem, written in a house by the harbour.",portrait:{colours:["#dfe7ee","#f0c9a8","#6b3f2a","#24479e"],hair:"bun"}}],[g,{name:"Dan Okafor",bio:"Engineer by day, baker by night. Writes about money, bread and machines that wait.",portrait:{colours:["#f4e3c8","#8d5a3c","#2a1c17","#26413c"],hair:"short"}}],[b,{name:"Hana Mori",bio:"Walks, counts and draws. Field notes from rivers, roads and old maps.",portrait:{colours:["#e3eadb","#eac39c","#1f1a1e","#a3523f"],hair:"curls"}}]]),re=[{text:G,author:m,description:"Two rules for the names of files, after which no evening is lost any more.",price:"0",hashtags:["howto","shell","backups"],picture:{motif:"papers",colours:["#1f3a4d","#e9b44c","#f4efe6"]},buyers:[]},{text:Y,author:g,description:"Where the plot of an annual report is, and which line to follow first.",price:"0.004",hashtags:["money","howto","reading"],picture:{motif:"books",colours:["#26413c","#d9a25f","#efe9dc"]},buyers:[k,ae]},{text:ee,author:g,description:"A loaf that waits for you. Two short visits to the kitchen, one long sleep.",price:"0",hashtags:["recipes","bread","kitchen"],picture:{motif:"loaf",colours:["#5b3a29","#e8c07d","#f7eedd"]},buyers:[]},{text:K,author:b,description:"A year of journeys in one table, and a column that was not planned.",price:"0.003",hashtags:["travel","numbers","walking"],picture:{motif:"hills",colours:["#2f4858","#8fb996","#f6f1e7"]},buyers:[m,x,He]},{text:U,author:m,description:"A poem, with gulls.",price:"0",hashtags:["poetry","sea","november"],picture:{motif:"waves",colours:["#173042","#7fa8b8","#e9eef0"]},buyers:[]},{text:oe,author:g,description:"My uncle kept two clocks. What that has to do with caches that expire.",price:"0.005",hashtags:["engineering","time","trains"],picture:{motif:"clock",colours:["#2b2d42","#ef8354","#edf2f4"]},buyers:[m,k]},{text:_,author:b,description:"Nouns, verbs, tense and negation on paper, and how to find a map's dog.",price:"0",hashtags:["maps","design","essays"],picture:{motif:"contours",colours:["#3d405b","#e07a5f","#f4f1de"]},buyers:[]},{text:X,author:m,description:"About the apple tree, the mint, the blackbird, and what flowers at night.",price:"0.002",hashtags:["letters","gardens"],picture:{motif:"leaves",colours:["#283618","#bc9b5d","#fefae0"]},buyers:[k,x,g,ae]},{text:z,author:b,description:"Field notes from a weir, four degrees, minute by minute.",price:"0.002",hashtags:["fieldnotes","birds","rivers"],picture:{motif:"waves",colours:["#344e41","#a3b18a","#eef0e6"]},buyers:[m]},{text:V,author:m,description:"Three things that a good note does, with notes.",price:"0.003",hashtags:["essays","books","typography"],picture:{motif:"books",colours:["#4a2c40","#e9b7ce","#f7f0f3"]},buyers:[g,b]},{text:J,author:g,description:"A story. When the light became electric, nobody told the man with the scissors.",price:"0.01",hashtags:["fiction","shortstory","lighthouses","sea"],picture:{motif:"lighthouse",colours:["#0b1d33","#f2c14e","#dfe7ee"]},buyers:[m,k,x]},{text:te,author:m,description:"Why two people should write everything, even if both of them are you.",price:"0",hashtags:["writing","craft","essays"],picture:{motif:"papers",colours:["#22223b","#c9ada7","#f2e9e4"]},buyers:[]}];function M(e){return/^# (.+)$/m.exec(e.text)?.[1]??""}var P=200,We=3e4;async function ie(e,t,a){let o=[],n=[],r=[],i=0,s=await se(e,t);for(let[u,c]of t.entries()){let d=M(c),y=w=>a({done:u,total:t.length,sentence:w});try{let w=s.get(d);w===void 0?(y(`Publishing “${d}”`),w=await De(e,c),o.push(d)):n.push(d),c.buyers.length>0&&y(`Buying “${d}”`),i+=await Oe(e,c,w)}catch(w){r.push({title:d,error:w})}}let l=t.length;return a({done:l,total:l,sentence:"Introducing the authors"}),await Ee(e),a({done:l,total:l,sentence:"Waiting for the index of posts"}),await Fe(e,t,o),{published:o,existed:n,failed:r,purchases:i}}async function se({imprint:e,people:t},a){let o=new Map;for(let n of new Set(a.map(r=>r.author))){let r=v(t,n).address;for await(let i of e.listIndexedPosts({author:r,limit:50}))o.set(i.title,i.id)}return o}async function Ee({imprint:e,people:t,authors:a,portray:o}){for(let[n,r]of a){let{address:i,wallet:s}=v(t,n);try{if((await e.showAuthor(i).catch(()=>null))?.profile)continue;let u=await o(r);await e.updateProfile(s,{name:r.name,bio:r.bio,avatar:u})}catch{}}}async function De(e,t){let{imprint:a,node:o,people:n,drafts:r}=e,{wallet:i}=v(n,t.author),s=M(t),l=[...t.hashtags],u=await e.draw(t),c=fe=>a.publishDraft(i,fe,{thumbnail:u,thumbnailName:"picture.png",hashtags:l}),d=r.recall(s),y=d===null?null:await c(d).catch(()=>null);(d===null||y===null)&&({cid:d}=await a.createDraft(i,t.text),r.keep(s,d),y=await c(d));let{marketplace:w,id:le}=a.facts.chain,de={cid:d,title:s,thumbnailCid:y.thumbnailCid,description:t.description,price:$(t.price),hashtags:l},ce=D(w,de,le),ue=await i.sendTransaction(ce),S=await I(o,ue,{everyMs:P}),A=F(S,w);if(S.status!=="success"||A===null)throw new Error(`The marketplace refused to publish “${s}”.`);return r.keep(s,null),A}async function Oe(e,t,a){let{imprint:o,node:n,people:r}=e,{marketplace:i,id:s}=o.facts.chain,l=0;for(let u of t.buyers){let{address:c,wallet:d}=v(r,u);if(await N(n,i,c,a)>0n)continue;let y=await d.sendTransaction(O(i,a,$(t.price),s));(await I(n,y,{everyMs:P})).status==="success"&&(l+=1)}return l}async function Fe(e,t,a){let o=Date.now()+We;for(;a.length>0&&Date.now()<o;){let n=await se(e,t);if(a.every(r=>n.has(r)))return;await Z(P/1e3)}}function v(e,t){let a=e[t];if(a===void 0)throw new Error(`The development chain has no account ${t}.`);return a}var he=e=>`imprint.sample.${H.chain.marketplace}.${e}`,Ne={recall:e=>W(he(e)),keep:(e,t)=>E(he(e),t)};async function kt(e){let t=j;if(t===null)throw new Error("Sample posts are for imprint dev only.");let a=await L();return ie({imprint:C,node:t,people:a,drafts:Ne,authors:ne,draw:({picture:i})=>Q(i),portray:({portrait:i})=>R(i)},re,e)}export{kt as fillWithSamples};
