import { testProvider } from './testing/run-suite.ts';
import { fakeSubject } from './testing/subjects.ts';

testProvider('fake', fakeSubject, {
  lacks: ['commands', 'terminal', 'watch', 'idle', 'attach', 'shared', 'drains-output'],
});
