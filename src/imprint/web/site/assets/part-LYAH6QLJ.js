import{a,b}from"./part-CDZQPJFD.js";import"./part-HSDXTMX7.js";import"./part-5GPR2K2R.js";import"./part-SAKBMSFF.js";import"./part-5R6LA7L4.js";export{a as offerSamples,b as sampleItem};
