import { lacksOf } from '../../cmd/gc/conformance/declared.ts';
import { testProvider } from './testing/run-suite.ts';
import { shareOfCases } from './testing/share.ts';
import { tmuxSubject } from './testing/subjects.ts';

/** What one command after the other could do otherwise than the connection, which all cases judge. */
const PARTICULAR = [
  'Nudge_BytesInBytesOut',
  'Nudge_ConcurrentOnesStayWhole',
  'Nudge_AfterDeathSaysSo',
  'Names_ThatAreNoneTouchNothing',
  'Observe_TellsAllInOneCall',
  'Observe_DeadPaneKeepsItsExit',
  'SendKeys_ReachTheAgent',
  'Start_NothingTypedBeforeReady',
  'Stop_EndsTheWholeTree',
  'Watch_ReportsExitsAsTheyHappen',
];

testProvider('tmux over plain commands', () => tmuxSubject('plain'), {
  program: 'tmux',
  lacks: lacksOf('tmux'),
  cases: shareOfCases(PARTICULAR),
});
