import{d as a,e as b}from"./part-YF674TMY.js";import"./part-4KVVCO6I.js";import"./part-K4SABGCS.js";export{a as NotCopied,b as copyText};
