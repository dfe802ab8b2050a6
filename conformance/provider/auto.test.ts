import { ACP_LACKS } from './testing/acp-subject.ts';
import { autoSubject, ROUTED_CASES } from './testing/routed-subject.ts';
import { testProvider } from './testing/run-suite.ts';

testProvider('auto: at terminals and over ACP', autoSubject, { lacks: ACP_LACKS, cases: ROUTED_CASES });
