import{d as a,e as b}from"./part-GYAFFX4N.js";import"./part-EGJSAYIN.js";import"./part-K4SABGCS.js";export{a as NotCopied,b as copyText};
