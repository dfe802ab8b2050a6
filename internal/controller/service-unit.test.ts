import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installService, renderLaunchdPlist, renderSystemdUnit, uninstallService } from './service-unit.ts';
import { scratch } from './testing/supervising.ts';

const self = ['/opt/node 20/bin/node', '/opt/100%/$gc/"main".js'];

let place: ReturnType<typeof scratch>;
let ran: string[];

beforeEach(() => {
  place = scratch();
  ran = [];
});
afterEach(() => place.dispose());

const options = (platform: NodeJS.Platform) => ({
  platform,
  env: { HOME: place.dir, PATH: '/usr/bin:/opt/100%', GC_HOME: join(place.dir, 'gc') },
  self,
  run: async (argv: readonly string[]) => {
    ran.push(argv.join(' '));
  },
});

describe('the unit of systemd', () => {
  it('TMX-22 stops the supervisor alone, whatever stands in its control group', () => {
    const unit = renderSystemdUnit([...self, 'supervisor', 'run'], { PATH: '/bin' });
    expect(unit).toContain('\nKillMode=process\n');
    expect(unit).toContain('\nRestart=on-failure\n');
    expect(unit).toContain('\nRestartPreventExitStatus=3\n');
    expect(unit).not.toContain('KillMode=control-group');
  });

  it('keeps special characters of paths from being expanded', () => {
    const unit = renderSystemdUnit([...self, 'supervisor', 'run'], { PATH: '/b%n:/$x' });
    expect(unit).toContain(
      'ExecStart="/opt/node 20/bin/node" "/opt/100%%/$$gc/\\"main\\".js" "supervisor" "run"\n',
    );
    expect(unit).toContain('Environment="PATH=/b%%n:/$x"\n');
  });

  it('is written by install, started, and removed again by uninstall', async () => {
    const file = await installService(options('linux'));
    expect(file).toBe(join(place.dir, '.config/systemd/user/gascity-supervisor.service'));
    expect(readFileSync(file, 'utf8')).toContain(`Environment="GC_HOME=${join(place.dir, 'gc')}"`);
    expect(ran).toEqual([
      'systemctl --user daemon-reload',
      'systemctl --user enable --now gascity-supervisor.service',
    ]);
    ran = [];
    expect(await uninstallService(options('linux'))).toBe(file);
    expect(ran).toEqual([
      'systemctl --user disable --now gascity-supervisor.service',
      'systemctl --user daemon-reload',
    ]);
    expect(existsSync(file)).toBe(false);
    expect(await uninstallService(options('linux'))).toBeUndefined();
  });
});

describe('the agent of launchd', () => {
  it('leaves the process group alone and comes back only after a failure', () => {
    const plist = renderLaunchdPlist(['/a & b/node', '/<x>/main.js', 'supervisor', 'run'], {
      HOME: '/home/me',
    });
    expect(plist).toContain('<key>AbandonProcessGroup</key>\n  <true/>');
    expect(plist).toContain('<key>SuccessfulExit</key>\n    <false/>');
    expect(plist).toContain('<string>/a &amp; b/node</string>\n    <string>/&lt;x&gt;/main.js</string>');
    expect(plist).toContain('/home/me/.gc/supervisor.log');
  });

  it('is loaded and unloaded', async () => {
    const file = await installService(options('darwin'));
    await uninstallService(options('darwin'));
    expect(ran).toEqual([`launchctl load -w ${file}`, `launchctl unload -w ${file}`]);
  });
});

it('an unknown system is said so', async () => {
  await expect(installService(options('win32'))).rejects.toMatchObject({ code: 'service-unsupported' });
});
