import { saysRoomWait } from './admission.ts';
import type { Explanation, SessionView } from './city-api.ts';
import { type DrainReason, drainWords } from './model.ts';
import { AGENT_SUSPENDED, NO_CONTROLLER } from './session-view.ts';

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
      if (session.question_id !== undefined) {
        const see: Help = { command: `gc session pending ${name}`, why: 'see the question and its choices' };
        const answer = { command: `gc session respond ${session.question_id} 1`, why: 'the first choice' };
        return isAcp ? [see, answer] : [see, answer, attach('answer it at its terminal')];
      }
      if (isAcp) return [{ command: `gc session pending ${name}`, why: 'see the question and its choices' }];
      return [attach('answer it at its terminal'), peek('see the question')];
    case 'backing-off':
    case 'quarantined':
      return [wake('try now'), ...(isSeen ? [peek('last screen kept')] : [])];
    case 'asleep':
      if (session.sleep_reason !== 'wait-hold') return [wake('start it')];
      return [
        { command: `gc wait list --session ${name}`, why: 'see what it waits for' },
        wake('start it; its waits are cancelled'),
      ];
    case 'suspended':
      if (session.detail !== AGENT_SUSPENDED) return [wake('start it')];
      return [
        { command: `gc agent resume ${session.template}`, why: 'have its agent work again' },
        { command: 'gc status', why: 'see whether its rig or the city is suspended' },
      ];
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
        ...keepHelps(session),
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

/** What keeps one that is let go, where that is in a person's hands. */
function keepHelps({ display_name: name, detail = '' }: SessionView): readonly Help[] {
  const isFor = (reason: DrainReason) => detail.startsWith(`${drainWords(reason)}:`);
  if (isFor('drained by a person')) return [{ command: `gc runtime undrain ${name}`, why: 'let it run on' }];
  if (isFor('no-wake-reason') || isFor('idle'))
    return [{ command: `gc session pin ${name}`, why: 'keep it up, needed or not' }];
  return [];
}
