import{d as a,e as b}from"./part-ZUU3L6QP.js";import"./part-M4U6HRE6.js";import"./part-K4SABGCS.js";export{a as NotCopied,b as copyText};
