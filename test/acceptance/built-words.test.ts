import { saysTheWords } from './support/words.ts';
import { worksOnWork } from './support/work.ts';

saysTheWords();
worksOnWork();
