import { lacksOf, offersOf } from '../../cmd/gc/conformance/declared.ts';
import { execSubject } from './testing/exec-subject.ts';
import { testProvider } from './testing/run-suite.ts';
import { shareOfCases } from './testing/share.ts';

/** What the script does by itself; the rest is the algorithm over it, which other back ends judge too. */
const PARTICULAR = [
  'Nudge_BytesInBytesOut',
  'Nudge_AfterDeathSaysSo',
  'Names_ThatAreNoneTouchNothing',
  'Observe_TellsAllInOneCall',
  'Observe_DeadPaneKeepsItsExit',
  'SendKeys_ReachTheAgent',
  'Start_StepsInOrder',
  'Stop_EndsTheWholeTree',
  'Second_ProviderSeesTheSameSessions',
];

testProvider(
  'GNU screen through its session script',
  () => execSubject('gc-session-screen', { offers: offersOf('exec') }),
  {
    program: 'screen',
    lacks: lacksOf('exec'),
    cases: shareOfCases(PARTICULAR),
  },
);
