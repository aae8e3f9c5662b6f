import { backendsWithout, testLaws } from '../backends.ts';
import { decodeTilesLaws } from '../laws/decode-tiles.ts';

testLaws(decodeTilesLaws);
testLaws(decodeTilesLaws, backendsWithout('decodeTiles'));
