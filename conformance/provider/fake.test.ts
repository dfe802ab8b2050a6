import { lacksOf } from '../../cmd/gc/conformance/declared.ts';
import { testProvider } from './testing/run-suite.ts';
import { fakeSubject } from './testing/subjects.ts';

testProvider('fake', fakeSubject, { lacks: lacksOf('fake') });
