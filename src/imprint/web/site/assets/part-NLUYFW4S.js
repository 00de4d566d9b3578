import{a,b}from"./part-3DVUBNBB.js";import"./part-HSDXTMX7.js";import"./part-SAKBMSFF.js";import"./part-2FC526MR.js";import"./part-5R6LA7L4.js";export{a as offerSamples,b as sampleItem};
