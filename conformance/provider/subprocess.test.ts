import { testProvider } from './testing/run-suite.ts';
import { subprocessSubject } from './testing/subjects.ts';

testProvider('subprocess', subprocessSubject, { lacks: [] });
