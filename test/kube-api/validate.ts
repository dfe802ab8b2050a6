import { isRecord } from './shapes.ts';
import { type FieldError, invalid } from './status-error.ts';

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const QUANTITY = /^[+-]?(\d+(\.\d*)?|\.\d+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?$/;
const ENV_NAME = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
const MAX_NAME = 253;
const MAX_LABEL = 63;
const MAX_ANNOTATIONS_BYTES = 262_144;
const RFC_1123 =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const RFC_1123_LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const LABEL_VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const QUALIFIED_NAME =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const QUANTITY_RULE =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

type Report = (field: string, reason: FieldError['reason'], message: string) => void;

/** What the API server checks before it stores a pod. @throws StatusError 422 with every complaint */
export function validatePod(pod: Record<string, unknown>): void {
  const errors: FieldError[] = [];
  const report: Report = (field, reason, message) => errors.push({ field, reason, message });
  const metadata = isRecord(pod['metadata']) ? pod['metadata'] : {};
  const spec = isRecord(pod['spec']) ? pod['spec'] : {};
  metadataErrors(metadata, report);
  const volumes = volumeNames(spec, report);
  const names = new Set<string>();
  for (const field of ['spec.initContainers', 'spec.containers']) {
    const list = spec[field.slice('spec.'.length)];
    const containers = Array.isArray(list) ? list.filter(isRecord) : [];
    if (field === 'spec.containers' && containers.length === 0)
      report(field, 'FieldValueRequired', 'Required value');
    containers.forEach((container, index) => {
      containerErrors(container, `${field}[${index}]`, { volumes, names }, report);
    });
  }
  const policy = spec['restartPolicy'];
  if (policy !== 'Never') {
    report(
      'spec.restartPolicy',
      'FieldValueInvalid',
      `Unsupported value: "${String(policy ?? 'Always')}": this cluster runs pods with: "Never"`,
    );
  }
  if (errors.length > 0) throw invalid('Pod', String(metadata['name'] ?? ''), errors);
}

export function metadataErrors(metadata: Record<string, unknown>, report: Report): void {
  const name = metadata['name'];
  if (typeof name !== 'string' || name === '') {
    report('metadata.name', 'FieldValueRequired', 'Required value: name or generateName is required');
  } else if (name.length > MAX_NAME || !DNS_NAME.test(name)) {
    report('metadata.name', 'FieldValueInvalid', `Invalid value: "${name}": ${RFC_1123}`);
  }
  for (const [key, value] of entries(metadata['labels'])) {
    keyErrors(key, 'metadata.labels', report);
    if (typeof value !== 'string' || value.length > MAX_LABEL || !(value === '' || QUALIFIED.test(value))) {
      report(
        'metadata.labels',
        'FieldValueInvalid',
        `Invalid value: ${JSON.stringify(value)}: ${LABEL_VALUE}`,
      );
    }
  }
  let size = 0;
  for (const [key, value] of entries(metadata['annotations'])) {
    keyErrors(key, 'metadata.annotations', report);
    size += Buffer.byteLength(key) + Buffer.byteLength(String(value));
  }
  if (size > MAX_ANNOTATIONS_BYTES) {
    report(
      'metadata.annotations',
      'FieldValueInvalid',
      `Too long: may not be more than ${MAX_ANNOTATIONS_BYTES} bytes`,
    );
  }
}

const entries = (value: unknown): [string, unknown][] => (isRecord(value) ? Object.entries(value) : []);

function keyErrors(key: string, field: string, report: Report): void {
  const parts = key.split('/');
  const [prefix, name] = parts.length === 1 ? [undefined, parts[0]] : [parts[0], parts.slice(1).join('/')];
  const good = name !== undefined && name.length <= MAX_LABEL && QUALIFIED.test(name);
  const goodPrefix = prefix === undefined || (prefix.length <= MAX_NAME && DNS_NAME.test(prefix));
  if (!good || !goodPrefix) report(field, 'FieldValueInvalid', `Invalid value: "${key}": ${QUALIFIED_NAME}`);
}

const VOLUME_KINDS = ['emptyDir', 'secret', 'hostPath'];

function volumeNames(spec: Record<string, unknown>, report: Report): Set<string> {
  const list = Array.isArray(spec['volumes']) ? spec['volumes'].filter(isRecord) : [];
  const names = new Set<string>();
  list.forEach((volume, index) => {
    const field = `spec.volumes[${index}]`;
    const name = String(volume['name'] ?? '');
    if (!DNS_LABEL.test(name))
      report(`${field}.name`, 'FieldValueInvalid', `Invalid value: "${name}": ${RFC_1123_LABEL}`);
    if (names.has(name)) report(`${field}.name`, 'FieldValueDuplicate', `Duplicate value: "${name}"`);
    names.add(name);
    if (!VOLUME_KINDS.some((kind) => isRecord(volume[kind]))) {
      report(
        field,
        'FieldValueRequired',
        `Required value: must specify a volume type (here: ${VOLUME_KINDS.join(', ')})`,
      );
    }
  });
  return names;
}

interface Known {
  readonly volumes: ReadonlySet<string>;
  readonly names: Set<string>;
}

function containerErrors(
  container: Record<string, unknown>,
  field: string,
  known: Known,
  report: Report,
): void {
  const name = String(container['name'] ?? '');
  if (name.length > MAX_LABEL || !DNS_LABEL.test(name)) {
    report(`${field}.name`, 'FieldValueInvalid', `Invalid value: "${name}": ${RFC_1123_LABEL}`);
  }
  if (known.names.has(name)) report(`${field}.name`, 'FieldValueDuplicate', `Duplicate value: "${name}"`);
  known.names.add(name);
  if (typeof container['image'] !== 'string' || container['image'] === '') {
    report(`${field}.image`, 'FieldValueRequired', 'Required value');
  }
  const env = Array.isArray(container['env']) ? container['env'].filter(isRecord) : [];
  env.forEach((entry, index) => {
    const variable = String(entry['name'] ?? '');
    if (!ENV_NAME.test(variable)) {
      report(
        `${field}.env[${index}].name`,
        'FieldValueInvalid',
        `Invalid value: "${variable}": a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit`,
      );
    }
  });
  const mounts = Array.isArray(container['volumeMounts']) ? container['volumeMounts'].filter(isRecord) : [];
  const paths = new Set<string>();
  mounts.forEach((mount, index) => {
    const volume = String(mount['name'] ?? '');
    const path = String(mount['mountPath'] ?? '');
    const at = `${field}.volumeMounts[${index}]`;
    if (!known.volumes.has(volume)) report(`${at}.name`, 'FieldValueInvalid', `Not found: "${volume}"`);
    if (path === '') report(`${at}.mountPath`, 'FieldValueRequired', 'Required value');
    if (paths.has(path))
      report(`${at}.mountPath`, 'FieldValueInvalid', `Invalid value: "${path}": must be unique`);
    paths.add(path);
  });
  resourceErrors(container['resources'], `${field}.resources`, report);
}

function resourceErrors(resources: unknown, field: string, report: Report): void {
  if (!isRecord(resources)) return;
  for (const side of ['requests', 'limits']) {
    for (const [name, value] of entries(resources[side])) {
      if (!QUANTITY.test(String(value))) {
        report(
          `${field}.${side}[${name}]`,
          'FieldValueInvalid',
          `Invalid value: "${String(value)}": ${QUANTITY_RULE}`,
        );
      }
    }
  }
  const limits = isRecord(resources['limits']) ? resources['limits'] : {};
  for (const [name, value] of entries(resources['requests'])) {
    const limit = limits[name];
    if (limit !== undefined && quantity(String(value)) > quantity(String(limit))) {
      report(
        `${field}.requests`,
        'FieldValueInvalid',
        `Invalid value: "${String(value)}": must be less than or equal to ${name} limit of ${String(limit)}`,
      );
    }
  }
}

const SCALES: Record<string, number> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** `500m` is 0.5. NaN for text that is no quantity. */
export function quantity(text: string): number {
  const match = /^([+-]?[\d.]+)([A-Za-z]+)?$/.exec(text);
  if (!match) return Number(text);
  return Number(match[1]) * (match[2] === undefined ? 1 : (SCALES[match[2]] ?? Number.NaN));
}
