import { lacksOf } from '../../cmd/gc/conformance/declared.ts';
import { testProvider } from './testing/run-suite.ts';
import { subprocessSubject } from './testing/subjects.ts';

testProvider('subprocess', subprocessSubject, { lacks: lacksOf('subprocess') });
