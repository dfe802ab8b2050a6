import { lacksOf } from '../../cmd/gc/conformance/declared.ts';
import { hybridSubject, ROUTED_CASES } from './testing/routed-subject.ts';
import { testProvider } from './testing/run-suite.ts';

testProvider('hybrid: on two hosts', hybridSubject, { lacks: lacksOf('subprocess'), cases: ROUTED_CASES });
