import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/program.ts';
import { type City, REPORTER, Stage } from './support/stage.ts';

/** One city, from its making to its end, as a person or a script takes it there. */
let stage: Stage;
let city: City;
beforeAll(async () => {
  stage = new Stage();
  city = await stage.city('life', {
    'city.toml': [
      '[workspace]',
      'name = "life"',
      '',
      '[daemon]',
      'patrol_interval = "500ms"',
      'drift_drain_timeout = "5s"',
      '',
      '[beads]',
      'provider = "file"',
      '',
      '[[agent]]',
      'name = "teller"',
      'start_command = "CUSTOM_MARK=one sh $GC_CITY/report.sh"',
      'max_active_sessions = 1',
      '',
      '[[named_session]]',
      'template = "teller"',
      'mode = "always"',
      '',
    ].join('\n'),
    'report.sh': REPORTER,
  });
  await city.start();
});
afterAll(() => stage.dispose());

describe('a running city', () => {
  it('shows who runs it, and its agents', async () => {
    const text = await city.ok(
      ['status', city.dir],
      [city.dir, 'Controller: supervisor (PID ', 'Suspended:  no', 'Agents:', 'teller', 'agents running'],
    );
    expect(text).toMatch(/teller\s+running/);
    expect(await city.json(['status', '--json'])).toMatchObject({
      city_name: 'life',
      controller: { running: true, mode: 'supervisor' },
      agents: expect.arrayContaining([expect.objectContaining({ name: 'teller', running: true })]),
    });
  });

  it('lists its sessions as scripts read them', async () => {
    const text = await city.ok(['session', 'list']);
    expect(text.split('\n')[0]).toMatch(/^ID +TEMPLATE +STATE +REASON +TARGET +TITLE +AGE +LAST ACTIVE$/);
    expect(await city.rows()).toMatchObject([{ template: 'teller', state: 'active', target: 'teller' }]);
    const [session] = await city.json<Record<string, unknown>[]>(['session', 'list', '--json']);
    expect(session).toMatchObject({ Template: 'teller', Closed: false, State: 'active' });
    expect(session).toHaveProperty('SessionName', 'teller');
  });

  it('is on the list, and its supervisor answers', async () => {
    await stage.ok(['cities'], ['life', city.dir]);
    await stage.ok(['supervisor', 'status'], ['Supervisor is running']);
    await stage.ok(['supervisor', 'reload'], ['Reconciliation triggered.']);
  });

  it('can be started again, which touches nothing', async () => {
    const before = await city.report('teller');
    await stage.ok(['start', city.dir]);
    expect(await city.report('teller')).toEqual(before);
  });

  it('refuses a second controller, and names the first', async () => {
    const said = await city.gc(['start', '--foreground', city.dir]);
    expect(said.code).toBe(3);
    expect(said.err).toMatch(/PID \d+|pid \d+/);
  });

  it('gives a session that is killed a new life', async () => {
    const before = await city.report('teller');
    await city.ok(['session', 'kill', 'teller'], ['killed']);
    const after = await city.report('teller', before);
    expect(after['PID']).not.toBe(before['PID']);
    await city.ok(['events', '--type', 'session.stopped'], ['session.stopped']);
    await city.ok(['events', '--type', 'session.woke'], ['session.woke']);
  });

  it('takes a change of its file by itself, and the session sees it', async () => {
    const before = await city.report('teller');
    expect(before['CUSTOM_MARK']).toBe('one');
    city.write('city.toml', city.read('city.toml').replace('CUSTOM_MARK=one', 'CUSTOM_MARK=two'));
    expect((await city.report('teller', before))['CUSTOM_MARK']).toBe('two');
  });

  it('goes on with the good file while a bad one is there', async () => {
    const good = city.read('city.toml');
    const before = await city.report('teller');
    // It reports before its start is on record.
    await until('teller is up', async () => (await city.state('teller')) === 'active');
    try {
      city.write('city.toml', `${good}\n[[agent]\n`);
      await until('the error is shown', async () => {
        const status = await city.json<{ config: { error?: string } }>(['status', '--json']);
        return status.config.error !== undefined;
      });
      expect(await city.state('teller')).toBe('active');
    } finally {
      city.write('city.toml', good);
    }
    await until('the error is gone', async () => {
      const status = await city.json<{ config: { error?: string } }>(['status', '--json']);
      return status.config.error === undefined;
    });
    expect(await city.report('teller')).toEqual(before);
  });
});

describe('rest', () => {
  it('of an agent lasts until it is resumed', async () => {
    const before = await city.report('teller');
    await city.ok(['agent', 'suspend', 'teller'], ["Suspended agent 'teller'"]);
    expect(city.read('city.toml')).toContain('suspended');
    await until('it is down', async () => (await city.state('teller')) !== 'active');
    await city.refused(['hook', 'teller'], ['suspended']);
    expect(await city.ok(['prime', 'teller'])).toBe('');
    await city.ok(['agent', 'resume', 'teller'], ["Resumed agent 'teller'"]);
    expect((await city.report('teller', before))['PID']).not.toBe(before['PID']);
  });

  it('of the city lasts until it is resumed', async () => {
    const before = await city.report('teller');
    await city.ok(['suspend', city.dir], ['City suspended']);
    await city.ok(['status'], ['Suspended:  yes']);
    await until('it is down', async () => (await city.state('teller')) !== 'active');
    await city.refused(['hook', 'teller'], ['suspended']);
    await city.ok(['resume', city.dir], ['City resumed']);
    expect((await city.report('teller', before))['PID']).not.toBe(before['PID']);
    await city.ok(['events', '--type', 'city.suspended'], ['city.suspended']);
  });
});

describe('the end', () => {
  it('and the beginning again', async () => {
    const before = await city.report('teller');
    await stage.ok(['restart', city.dir], ['stopped', 'City started'], { cwd: city.dir });
    expect((await city.report('teller', before))['PID']).not.toBe(before['PID']);
  });

  it('leaves nothing, takes it from the list, and is a success once more', async () => {
    const { PID: pid } = await city.report('teller');
    await city.stop();
    expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH');
    expect(await stage.ok(['cities'])).not.toContain(city.dir);
    await city.ok(['status'], ['Controller: stopped']);
    await city.stop();
    await stage.ok(['unregister', city.dir]);
  });

  it('is undone by registering it; an empty folder is no city', async () => {
    await stage.ok(['register', city.dir], ['life']);
    await until('it is up', async () => (await city.state('teller')) === 'active');
    await stage.refused(['register', stage.empty]);
    await stage.ok(['unregister', city.dir], ["Unregistered city 'life'"]);
    await city.ok(['status'], ['Controller: stopped']);
  });

  it('of the supervisor is seen', async () => {
    await stage.gc(['supervisor', 'stop']);
    await stage.refused(['status', stage.empty]);
    const { code, all } = await stage.gc(['supervisor', 'status']);
    expect([code, all]).toEqual([1, expect.stringContaining('Supervisor is not running')]);
  });
});
