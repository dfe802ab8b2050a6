import { lacksOf } from '../../cmd/gc/conformance/declared.ts';
import { testProvider } from './testing/run-suite.ts';
import { tmuxSubject } from './testing/subjects.ts';

testProvider('tmux over its control connection', () => tmuxSubject('control'), {
  program: 'tmux',
  lacks: lacksOf('tmux'),
});
