import type { City } from '../city.ts';
import { stringifyYaml } from '../document/yaml-document.ts';
import { configData } from './show-config.ts';

/** The configuration in force as YAML: what is written and what was found by convention, no defaults. */
export function showConfigYaml(city: City): string {
  return stringifyYaml(configData(city));
}
