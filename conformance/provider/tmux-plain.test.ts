import { testProvider } from './testing/run-suite.ts';
import { tmuxSubject } from './testing/subjects.ts';

testProvider('tmux over plain commands', () => tmuxSubject('plain'), {
  program: 'tmux',
  lacks: ['drains-output'],
});
