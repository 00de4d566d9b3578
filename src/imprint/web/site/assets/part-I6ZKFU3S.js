import{a as N}from"./part-ATMXVWTU.js";import{a as j}from"./part-YSKTNWQJ.js";import{b as D,c as C}from"./part-LP55ZLIB.js";import"./part-YXKOJQ4H.js";import{n as S,o as E,r as v,s as O,t as F}from"./part-AD4QON2E.js";import{d as H,e as W}from"./part-ZI6UM6L2.js";import{a as M,d as k}from"./part-64THR7UO.js";import"./part-YF674TMY.js";import"./part-4KVVCO6I.js";import"./part-K4SABGCS.js";function le(o){let[t,e,a]=o.colours,n=de[o.motif](t,e);return['<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="800" viewBox="0 0 1200 800">',`<rect width="1200" height="800" fill="${a}"/>`,...n,"</svg>"].join("")}async function B(o){let t=new Image(1200,800);t.src=`data:image/svg+xml,${encodeURIComponent(le(o))}`,await t.decode();let e=document.createElement("canvas");return e.width=1200,e.height=800,e.getContext("2d")?.drawImage(t,0,0,1200,800),new Promise((a,n)=>e.toBlob(r=>r?a(r):n(new Error("The browser drew no picture.")),"image/png"))}var de={columns:(o,t)=>w(9).map(e=>{let a=180+60*(e*5%9),n=e%3===1?t:o;return`<rect x="${150+102*e}" y="${700-a}" width="62" height="${a}" rx="31" fill="${n}" opacity="${e%2?.75:1}"/>`}),hills:(o,t)=>[m(860,250,110,t,.9),...w(4).map(e=>{let a=360+110*e,n=e%2?120:-120;return`<path d="${`M0 ${a} C300 ${a-160+n} 700 ${a+140-n} 1200 ${a-60} V800 H0 Z`}" fill="${o}" opacity="${(.3+.22*e).toFixed(2)}"/>`})],leaves:(o,t)=>[`<path d="M600 760 C590 560 620 380 600 90" stroke="${o}" stroke-width="10" fill="none" stroke-linecap="round"/>`,...w(7).flatMap(e=>[R(e,-1,o),R(e,1,t)])],rings:(o,t)=>[...w(7).map(e=>`<circle cx="600" cy="400" r="${70+48*e}" fill="none" stroke="${o}" stroke-width="${20-2*e}" opacity="${(1-.11*e).toFixed(2)}"/>`),`<path d="M600 400 L1210 180 V330 Z" fill="${t}" opacity="0.55"/>`,m(600,400,46,t,1)],strata:(o,t)=>w(6).map(e=>{let a=980-120*(e*2%5),n=e%2?1090-a:110,r=e===2?t:o;return`<rect x="${n}" y="${118+98*e}" width="${a}" height="58" rx="8" fill="${r}" opacity="${(1-.1*e).toFixed(2)}"/>`}),suns:(o,t)=>[m(600,430,300,t,.55),m(600,430,230,o,1),...w(5).map(e=>{let a=450+75*e;return`<path d="${`M${a} 300 Q${a+42} 430 ${a} 560`}" fill="none" stroke="${t}" stroke-width="18" stroke-linecap="round"/>`})],waves:(o,t)=>[m(330,240,90,t,.8),...w(6).map(e=>{let a=330+82*e,n=e%2?0:-100,r=w(8).map(()=>"q50 -60 100 0 t100 0").join(" ");return`<path d="M${n} ${a} ${r} V800 H${n} Z" fill="${e%3===1?t:o}" opacity="${(.35+.11*e).toFixed(2)}"/>`})]};function R(o,t,e){let a=180+80*o,n=(130+26*o)*t;return`<path d="${`M600 ${a+60} Q${600+n*.5} ${a-80} ${600+n} ${a-40} Q${600+n*.6} ${a+70} 600 ${a+60} Z`}" fill="${e}" opacity="${(.95-.06*o).toFixed(2)}"/>`}function m(o,t,e,a,n){return`<circle cx="${o}" cy="${t}" r="${e}" fill="${a}" opacity="${n}"/>`}var w=o=>Array.from({length:o},(t,e)=>e);var Y='# Name your backups so that they sort\n\nThere is a folder on somebody\'s disk right now that holds `backup`, `backup2`, `backup_new`, `backup_final` and `backup_final_really`. One of them is the good one. Finding out which costs an evening, and it is always the evening on which there is no time.\n\nTwo rules end this for good.\n\n**Rule one: the date comes first, largest part first.** Then every tool in the world sorts your files by age without being asked.\n\n```sh\nstamp=$(date -u +%Y-%m-%dT%H%MZ)\ntar --create --file "photos-$stamp.tar.partial" ~/photos\n```\n\nNo colons, since some file systems refuse them. `Z` says that it is UTC, so that nobody has to remember in which week the clocks changed.\n\n**Rule two: a file gets its name when it is finished.** Write to `….partial`, and rename at the end. A rename either happens or does not; there is no half of it. Whatever ends with `.tar` is then whole, by definition, even if the power went out at the worst moment.\n\n```sh\nmv "photos-$stamp.tar.partial" "photos-$stamp.tar"\n```\n\nNow cleaning up is one line too. Keep the newest seven, list the rest:\n\n```sh\nls photos-*.tar | sort --reverse | tail --lines +8\n```\n\nLook at that list for a week before you put `xargs rm` behind it.\n\nOne more thing, which is not about names. A backup that was never restored is a rumour. Once a month, take the newest file, unpack it somewhere else, and open one picture in it. Write the day on a piece of paper next to the machine. It is the cheapest test you will ever run, and the only one that answers the question you will actually have.\n';var G=`# How to read a balance sheet like a novel

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
`;var L=`# In praise of the footnote

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
`;var V=`# Inventory of a harbour in November

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
`;var q=`# Forty minutes with a heron

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
`;var Z=`# What a kilometre costs

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
`;var U=`# The lamp trimmer's apprentice

When the light was made electric, they kept the lamp trimmer on, because nobody had thought to write down that he should go. He came up the hundred and twelve steps every evening as before, looked at the bulb, which had no wick, and sat down beside it with his scissors in his lap.

In the second winter they sent him an apprentice.

"What do I learn?" asked the girl.

"What does the paper say?"

She had the paper with her. It had been printed in the year of the old king, and it said that the apprentice should learn to keep the light.

"Then we had better begin," said the trimmer.

He taught her to climb without counting, so that her breath would last. He taught her the ships by their engines: the collier that coughed, the mail that hummed through its nose. He taught her to see weather in the oil, and when she said that there was no oil, he said that this was the difficulty, and that she would have to look harder.

In the spring she could tell by the taste of the rail whether there would be fog. By summer the boats that passed had begun to sound their horns, once, going by, because somebody up there always lifted a hand before they came in sight.

He died in the autumn, in his chair, on the right side of the lamp. She wrote to the harbour office that the post was vacant. The office answered that no such post existed, and that, furthermore, according to its records, no apprentice had ever been sent.

She read the letter twice. Then she read the old paper again, and saw what she had taken for a printer's mark, at the very bottom, in a careful hand and brown ink: *Received one boy, in the year of the great ice. He will do. He asks what he is to learn.*

That night the current failed along the whole coast. For an hour there was no light from the point to the islands but one; and those who were at sea said afterwards that it had not been very bright, and a little yellow, and that it had leaned now and then, as if someone were shielding it with a hand.
`;var Q=`# Letter to the next tenant

You will find the garden before you find the fuse box, so I begin with that.

The apple tree against the wall is not dead. It will seem so until the second week of May, and you will be advised by everybody, including the man who reads the meter, to take it down. Wait. It has always been late. It bears every other year, small and sour and far too many, and in the years between it thinks.

Under the kitchen window there is mint. There will be mint. You may have plans for that bed; the mint has heard plans before.

The blackbird owns the corner by the water butt. He will let you hang out washing there if you do it before eight, and he objects to blue. I do not know why. I have tested it.

Do not dig where the three flat stones are. That is where the cat lies, who was called Minister, and who came with the house when *I* did, with a letter like this one. It said that he liked the heel of the bread, and that he would come in of his own accord when he had made up his mind about me. It took until October.

The gate sticks. You can plane it, and in August you will be glad; but in winter it will swing, and the whole street will hear that you are not at home. I decided to let it stick.

There are things here that I never found out: who planted the white crocus in the middle of the lawn, so exactly in the middle; why the soil by the fence is full of oyster shells, this far from the sea; and what it is that flowers at night, in June, somewhere to the left, so that one stands at the open window and cannot go to bed.

If you find out, please do not write and tell me.

The fuse box is behind the door of the larder, by the way. It is labelled. The labels are wrong, but they are wrong in a consistent manner, and you will get used to it.
`;var z=`# Rye bread for people who forget things

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
`;var K=`# The second draft is written by somebody else

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
`;var J=`# A clock that is wrong on purpose

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
`;var[c,y,I,p,X,Te,,g]=[0,1,2,3,4,5,6,7],ee=[{text:Y,author:c,description:"Two rules for the names of files, after which no evening is lost any more.",price:"0",hashtags:["howto","shell","backups"],picture:{motif:"strata",colours:["#1f3a4d","#e9b44c","#f4efe6"]},buyers:[]},{text:G,author:p,description:"Where the plot of an annual report is, and which line to follow first.",price:"0.004",hashtags:["money","howto","reading"],picture:{motif:"columns",colours:["#26413c","#d9a25f","#efe9dc"]},buyers:[y,X]},{text:z,author:p,description:"A loaf that waits for you. Two short visits to the kitchen, one long sleep.",price:"0",hashtags:["recipes","bread","kitchen"],picture:{motif:"suns",colours:["#5b3a29","#e8c07d","#f7eedd"]},buyers:[]},{text:Z,author:g,description:"A year of journeys in one table, and a column that was not planned.",price:"0.003",hashtags:["travel","numbers","walking"],picture:{motif:"hills",colours:["#2f4858","#8fb996","#f6f1e7"]},buyers:[c,I,Te]},{text:V,author:c,description:"A poem, with gulls.",price:"0",hashtags:["poetry","sea","november"],picture:{motif:"waves",colours:["#173042","#7fa8b8","#e9eef0"]},buyers:[]},{text:J,author:p,description:"My uncle kept two clocks. What that has to do with caches that expire.",price:"0.005",hashtags:["engineering","time","trains"],picture:{motif:"rings",colours:["#2b2d42","#ef8354","#edf2f4"]},buyers:[c,y]},{text:_,author:g,description:"Nouns, verbs, tense and negation on paper, and how to find a map's dog.",price:"0",hashtags:["maps","design","essays"],picture:{motif:"hills",colours:["#3d405b","#e07a5f","#f4f1de"]},buyers:[]},{text:Q,author:c,description:"About the apple tree, the mint, the blackbird, and what flowers at night.",price:"0.002",hashtags:["letters","gardens"],picture:{motif:"leaves",colours:["#283618","#bc9b5d","#fefae0"]},buyers:[y,I,p,X]},{text:q,author:g,description:"Field notes from a weir, four degrees, minute by minute.",price:"0.002",hashtags:["fieldnotes","birds","rivers"],picture:{motif:"waves",colours:["#344e41","#a3b18a","#eef0e6"]},buyers:[c]},{text:L,author:c,description:"Three things that a good note does, with notes.",price:"0.003",hashtags:["essays","books","typography"],picture:{motif:"columns",colours:["#4a2c40","#e9b7ce","#f7f0f3"]},buyers:[p,g]},{text:U,author:p,description:"A story. When the light became electric, nobody told the man with the scissors.",price:"0.01",hashtags:["fiction","shortstory","lighthouses","sea"],picture:{motif:"rings",colours:["#0b1d33","#f2c14e","#dfe7ee"]},buyers:[c,y,I]},{text:K,author:c,description:"Why two people should write everything, even if both of them are you.",price:"0",hashtags:["writing","craft","essays"],picture:{motif:"strata",colours:["#22223b","#c9ada7","#f2e9e4"]},buyers:[]}];function T(o){return/^# (.+)$/m.exec(o.text)?.[1]??""}var $=200,$e=3e4;async function te(o,t,e){let a=[],n=[],r=[],s=0,d=await oe(o,t);for(let[f,u]of t.entries()){let l=T(u),h=i=>e({done:f,total:t.length,sentence:i});try{let i=d.get(l);i===void 0?(h(`Publishing “${l}”`),i=await xe(o,u),a.push(l)):n.push(l),u.buyers.length>0&&h(`Buying “${l}”`),s+=await Ae(o,u,i)}catch(i){r.push({title:l,error:i})}}return e({done:t.length,total:t.length,sentence:"Waiting for the index of posts"}),await Pe(o,t,a),{published:a,existed:n,failed:r,purchases:s}}async function oe({imprint:o,people:t},e){let a=new Map;for(let n of new Set(e.map(r=>r.author))){let r=x(t,n).address;for await(let s of o.listIndexedPosts({author:r,limit:50}))a.set(s.title,s.id)}return a}async function xe(o,t){let{imprint:e,node:a,people:n,drafts:r}=o,{wallet:s}=x(n,t.author),d=T(t),f=[...t.hashtags],u=await o.draw(t),l=he=>e.publishDraft(s,he,{thumbnail:u,thumbnailName:"picture.png",hashtags:f}),h=r.recall(d),i=h===null?null:await l(h).catch(()=>null);(h===null||i===null)&&({cid:h}=await e.createDraft(s,t.text),r.keep(d,h),i=await l(h));let{marketplace:b,id:ne}=e.facts.chain,re={cid:h,title:d,thumbnailCid:i.thumbnailCid,description:t.description,price:k(t.price),hashtags:f},ie=S(b,re,ne),se=await s.sendTransaction(ie),A=await v(a,se,{everyMs:$}),P=O(A,b);if(A.status!=="success"||P===null)throw new Error(`The marketplace refused to publish “${d}”.`);return r.keep(d,null),P}async function Ae(o,t,e){let{imprint:a,node:n,people:r}=o,{marketplace:s,id:d}=a.facts.chain,f=0;for(let u of t.buyers){let{address:l,wallet:h}=x(r,u);if(await F(n,s,l,e)>0n)continue;let i=await h.sendTransaction(E(s,e,k(t.price),d));(await v(n,i,{everyMs:$})).status==="success"&&(f+=1)}return f}async function Pe(o,t,e){let a=Date.now()+$e;for(;e.length>0&&Date.now()<a;){let n=await oe(o,t);if(e.every(r=>n.has(r)))return;await N($)}}function x(o,t){let e=o[t];if(e===void 0)throw new Error(`The development chain has no account ${t}.`);return e}var ae=o=>`imprint.sample.${M.chain.marketplace}.${o}`,Me={recall:o=>H(ae(o)),keep:(o,t)=>W(ae(o),t)};async function ut(o){let t=D;if(t===null)throw new Error("Sample posts are for imprint dev only.");let e=await C();return te({imprint:j,node:t,people:e,drafts:Me,draw:({picture:n})=>B(n)},ee,o)}export{ut as fillWithSamples};
