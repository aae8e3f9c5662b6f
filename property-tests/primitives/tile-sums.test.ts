import { testLaws } from '../backends.ts';
import { tileSumsLaws } from '../laws/tile-sums.ts';

testLaws(tileSumsLaws);
