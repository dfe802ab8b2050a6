import { ACP_LACKS, acpSubject } from './testing/acp-subject.ts';
import { testProvider } from './testing/run-suite.ts';

testProvider('acp', acpSubject, { lacks: ACP_LACKS });
