import { type Fields, fieldsOf, isFields } from '../../../platform/fields.ts';
import type { Part } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { CallEffect, ResultEffect, TextEffect } from './dialect.ts';
import { dataPart, filePart, listOf, loggableObject, textIn, textPart, wellFormed } from './lenient-json.ts';

/** What the program puts in the place of an answer of the model: an error, a resumption. */
const SYNTHETIC_MODEL = '<synthetic>';

/** What a message of Claude Code says and does; its output stream and its transcript write messages alike. */
export function effectsOfMessage(entry: Fields): readonly (CallEffect | ResultEffect | TextEffect)[] {
  // A helper agent's messages stand in a conversation of its own: no place of this one.
  const at = isHelper(entry) ? '' : textIn(entry, 'uuid');
  const message = fieldsOf(entry['message']);
  const content = listOf(message['content']);
  if (entry['type'] === 'user') return content.flatMap((block) => resultIn(block, at));
  if (entry['type'] !== 'assistant' || isSynthetic(entry)) return [];
  return content.flatMap((block): readonly (CallEffect | TextEffect)[] => {
    if (block['type'] === 'tool_use') {
      const args = loggableObject(block['input']);
      return [{ kind: 'call', at, id: textIn(block, 'id'), tool: wellFormed(textIn(block, 'name')), args }];
    }
    const text = textIn(block, 'text');
    // What a helper agent says is for the agent that called it, and comes back as that call's result.
    if (block['type'] !== 'text' || text === '' || isHelper(entry)) return [];
    return [{ kind: 'text', at, text: wellFormed(text) }];
  });
}

export function isSynthetic(entry: Fields): boolean {
  return fieldsOf(entry['message'])['model'] === SYNTHETIC_MODEL;
}

function isHelper(entry: Fields): boolean {
  return textIn(entry, 'parent_tool_use_id') !== '' || entry['isSidechain'] === true;
}

function resultIn(block: Fields, at: string): readonly ResultEffect[] {
  if (block['type'] !== 'tool_result') return [];
  const id = textIn(block, 'tool_use_id');
  return [
    { kind: 'result', at, id, content: partsOf(block['content']), isError: block['is_error'] === true },
  ];
}

function partsOf(content: unknown): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)];
  if (!Array.isArray(content)) return [];
  return content.filter(isFields).map((block) => {
    if (block['type'] === 'text') return textPart(textIn(block, 'text'));
    const source = fieldsOf(block['source']);
    if (source['type'] === 'base64') return filePart(textIn(source, 'media_type'), textIn(source, 'data'));
    return dataPart(loggableObject(block));
  });
}
