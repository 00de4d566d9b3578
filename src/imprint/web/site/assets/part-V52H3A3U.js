import{d as a,e as b}from"./part-Q4BOC3C2.js";import"./part-Z3ZPM5SZ.js";import"./part-K4SABGCS.js";export{a as NotCopied,b as copyText};
