import { testLaws } from '../backends.ts';
import { sampleWeightedLaws } from '../laws/sample-weighted.ts';

testLaws(sampleWeightedLaws);
