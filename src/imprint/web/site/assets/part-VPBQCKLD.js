import{d as a,e as b}from"./part-TYWWJBXC.js";import"./part-LQQNO2G2.js";import"./part-K4SABGCS.js";export{a as NotCopied,b as copyText};
