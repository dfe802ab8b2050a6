import { createHash } from 'node:crypto';
import { GcError, messageOf } from '../../platform/errors.ts';
import { canonicalJson, protoJson } from '../../protocol/canonical-json.ts';
import { Resumability } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import {
  type HarnessSpec,
  HarnessSpecSchema,
} from '../../protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import { fromJson } from '../../protocol/protobuf.ts';
import { ServiceError } from './sessions-host.ts';

const MAX_SPEC_BYTES = 4096;
/** RFC 1123 label. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** @throws ServiceError INVALID_ARGUMENT */
export function checkHarnessName(name: string): void {
  if (NAME.test(name)) return;
  throw new ServiceError('INVALID_ARGUMENT', `${JSON.stringify(name)} cannot be the name of a harness`, {
    next: '1 to 63 of a-z, 0-9 and "-", beginning and ending with a letter or a digit',
  });
}

export interface CanonicalSpec {
  readonly json: string;
  /** `sha256:` and hex, over the canonical JSON. */
  readonly digest: string;
}

/**
 * A spec that may be stored.
 * Source: agentsessions.v1 RegisterHarness.
 * @throws ServiceError INVALID_ARGUMENT
 */
export function checkSpec(spec: HarnessSpec | undefined): CanonicalSpec {
  if (spec === undefined) throw invalid('spec is missing');
  if (hasUnknownFields(spec)) throw invalid('spec has fields that this version does not know');
  checkPlacement(spec.placement);
  const resumability = spec.capabilities?.resumability ?? Resumability.UNSPECIFIED;
  if (Resumability[resumability] === undefined)
    throw invalid(`capabilities.resumability has no value ${resumability}`);
  if (resumability === Resumability.UNSPECIFIED) {
    throw invalid('capabilities.resumability is missing');
  }
  const json = canonicalOf(spec);
  const bytes = Buffer.byteLength(json, 'utf8');
  if (bytes > MAX_SPEC_BYTES) {
    throw invalid(`spec takes ${bytes} bytes; at most ${MAX_SPEC_BYTES} are stored`);
  }
  return { json, digest: digestOf(json) };
}

/** @throws GcError `harness-spec-unreadable` */
export function parseSpec(json: string): HarnessSpec {
  try {
    return fromJson(HarnessSpecSchema, JSON.parse(json));
  } catch (error) {
    throw new GcError('harness-spec-unreadable', `its stored spec cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function digestOf(canonical: string): string {
  return `sha256:${createHash('sha256').update(canonical, 'utf8').digest('hex')}`;
}

function canonicalOf(spec: HarnessSpec): string {
  try {
    return canonicalJson(protoJson(HarnessSpecSchema, spec));
  } catch (error) {
    throw new ServiceError('INVALID_ARGUMENT', `spec ${messageOf(error)}`, { cause: error });
  }
}

function checkPlacement(placement: HarnessSpec['placement']): void {
  switch (placement.case) {
    case undefined:
      throw invalid('spec says nothing about where the harness is: remote or substrate');
    case 'remote':
      if (placement.value.address === '') throw invalid('remote.address is missing');
      return;
    case 'substrate':
      if (placement.value.atespace === '' || placement.value.template === '')
        throw invalid('substrate.atespace and substrate.template are both needed');
  }
}

function hasUnknownFields(spec: HarnessSpec): boolean {
  const messages = [spec, spec.capabilities, spec.placement.value];
  return messages.some((message) => (message?.$unknown?.length ?? 0) > 0);
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message);
}
