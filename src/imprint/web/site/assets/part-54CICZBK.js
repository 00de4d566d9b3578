import{d as a,e as b}from"./part-7CKSL2GN.js";import"./part-L5Z6D5DW.js";import"./part-K4SABGCS.js";export{a as NotCopied,b as copyText};
