import fc from 'fast-check';
import { caseCount } from './cases.ts';

// Laws that say nothing of their number of cases have 100, as fast-check would have it.
fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: caseCount(100) });
