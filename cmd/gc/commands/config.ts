import type { City } from '../../../internal/config/city.ts';
import { problemJson } from '../../../internal/config/document/format-problems.ts';
import { loadCity } from '../../../internal/config/load-city.ts';
import { adviceOf } from '../../../internal/config/show/advice.ts';
import { explainConfig, explainText } from '../../../internal/config/show/explain-config.ts';
import { provenanceReport, provenanceText } from '../../../internal/config/show/provenance-report.ts';
import { configData, showConfig } from '../../../internal/config/show/show-config.ts';
import { cityRoot } from '../city/access.ts';
import { loadChecked, problemsError, problemText } from '../city/load-city.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';

export const runConfigShow: CommandRun = async (context, input) => {
  const root = await cityRoot(context);
  const loaded = await loadCity(root, { env: context.env });
  if (loaded.kind === 'invalid') throw problemsError(context, root, loaded);
  const city: City = { ...loaded.city, warnings: [...loaded.city.warnings, ...adviceOf(loaded.city)] };
  const isCheck = input.flag('validate');
  const isProvenance = !isCheck && input.flag('provenance');
  const notes = isCheck ? city.notes : [];
  // The page of places has the warnings on it.
  const told = isProvenance ? [] : [...city.warnings, ...notes];
  if (!context.json) context.err.write(problemText(context.err, root, told, loaded.texts));
  if (isCheck) {
    const result = {
      valid: true,
      warnings: city.warnings.map(problemJson),
      notes: city.notes.map(problemJson),
    };
    print(context, result, () => 'Config valid.\n');
  } else if (isProvenance) print(context, provenanceReport(city), () => provenanceText(city));
  else if (input.flag('yaml') && !context.json) {
    const { showConfigYaml } = await import('../../../internal/config/show/show-yaml.ts');
    context.out.write(showConfigYaml(city));
  } else print(context, configData(city), () => showConfig(city));
  return 0;
};

export const runConfigExplain: CommandRun = async (context, input) => {
  const root = await cityRoot(context);
  const city = await loadChecked(context, root);
  const agent = input.optionalArg('name') ?? input.text('agent');
  const rig = input.text('rig');
  const explained = explainConfig(city, { ...(agent ? { agent } : {}), ...(rig ? { rig } : {}) });
  print(context, explained, () => explainText(explained, root));
  return 0;
};

function print(context: Context, data: unknown, text: () => string): void {
  context.out.write(context.json ? `${JSON.stringify(data, null, 2)}\n` : text());
}
