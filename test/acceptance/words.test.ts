import { inProcess } from './support/in-process.ts';
import { saysTheWords } from './support/words.ts';
import { worksOnWork } from './support/work.ts';

saysTheWords(inProcess);
worksOnWork(inProcess);
