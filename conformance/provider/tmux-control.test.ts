import { testProvider } from './testing/run-suite.ts';
import { tmuxSubject } from './testing/subjects.ts';

testProvider('tmux over its control connection', () => tmuxSubject('control'), {
  program: 'tmux',
  lacks: ['drains-output'],
});
