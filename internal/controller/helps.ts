import type { Explanation, SessionView } from './city-api.ts';
import { NO_CONTROLLER } from './session-view.ts';

type Help = Explanation['helps'][number];

/** Commands that help in a session's condition, ready to paste. */
export function helpsFor(session: SessionView): readonly Help[] {
  const name = session.display_name;
  const attach = (why: string): Help => ({ command: `gc session attach ${name}`, why });
  const peek = (why: string): Help => ({ command: `gc session peek ${name}`, why });
  const wake = (why: string): Help => ({ command: `gc session wake ${name}`, why });
  switch (session.condition) {
    case 'waits':
      return [attach('answer it at its terminal'), peek('see the question')];
    case 'backing-off':
    case 'quarantined':
      return [wake('try now'), peek('last screen kept')];
    case 'suspended':
    case 'asleep':
      return [wake('start it')];
    case 'stopped':
      if (!session.wanted || session.detail === undefined || session.detail === NO_CONTROLLER)
        return [{ command: 'gc start', why: 'bring the city up' }];
      return [
        { command: 'gc doctor', why: 'see what is missing' },
        { command: 'gc start', why: 'with the PATH of this shell' },
      ];
    case 'draining':
      return [
        { command: `gc runtime undrain ${name}`, why: 'let it run on' },
        attach('it waits while a person is attached'),
      ];
    case 'unknown':
      return [{ command: 'gc doctor', why: 'look at the runtime' }];
    case 'starting':
      return [peek('see what it shows')];
    case 'idle':
    case 'working':
    case 'running':
      return [
        { command: `gc nudge ${name} "text"`, why: 'say something' },
        attach('sit down at its terminal'),
      ];
    case 'closed':
      return [{ command: `gc session logs ${name}`, why: 'read its conversation' }];
  }
}
