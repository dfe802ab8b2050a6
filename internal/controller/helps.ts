import { saysRoomWait } from './admission.ts';
import type { Explanation, SessionView } from './city-api.ts';
import { NO_CONTROLLER } from './session-view.ts';

type Help = Explanation['helps'][number];

/**
 * Commands that help in a session's condition, ready to paste.
 * @param isSeen the runtime has it, alive or with the screen that it left
 */
export function helpsFor(session: SessionView, isSeen: boolean): readonly Help[] {
  const name = session.display_name;
  const attach = (why: string): Help => ({ command: `gc session attach ${name}`, why });
  const isAcp = session.transport === 'acp';
  const peek = (why: string): Help => ({ command: `gc session peek ${name}`, why });
  const wake = (why: string): Help => ({ command: `gc session wake ${name}`, why });
  switch (session.condition) {
    case 'waits':
      if (isAcp) return [{ command: `gc session pending ${name}`, why: 'see the question and its choices' }];
      return [attach('answer it at its terminal'), peek('see the question')];
    case 'backing-off':
    case 'quarantined':
      return [wake('try now'), ...(isSeen ? [peek('last screen kept')] : [])];
    case 'suspended':
    case 'asleep':
      return [wake('start it')];
    case 'stopped':
      if (!session.wanted || session.detail === undefined || session.detail === NO_CONTROLLER)
        return [{ command: 'gc start', why: 'bring the city up' }];
      if (session.problem === 'acp-not-ready') return [{ command: 'gc restart', why: 'puts it into force' }];
      return [
        { command: 'gc doctor', why: 'see what is missing' },
        { command: 'gc start', why: 'with the PATH of this shell' },
      ];
    case 'draining':
      return [
        { command: `gc runtime undrain ${name}`, why: 'let it run on' },
        isAcp ? peek('see its conversation') : attach('it waits while a person is attached'),
      ];
    case 'unknown':
      return [{ command: 'gc doctor', why: 'look at the runtime' }];
    case 'starting':
      if (saysRoomWait(session.detail)) {
        return [
          { command: `gc session wake ${name} --force`, why: 'start it all the same' },
          { command: 'gc status --resources', why: 'see who takes how much' },
        ];
      }
      return isSeen ? [peek('see what it shows')] : [];
    case 'idle':
    case 'working':
    case 'running':
      return [
        { command: `gc nudge ${name} "text"`, why: 'say something' },
        isAcp ? peek('see its conversation') : attach('sit down at its terminal'),
      ];
    case 'closed':
      return [{ command: `gc session logs ${name}`, why: 'read its conversation' }];
  }
}
