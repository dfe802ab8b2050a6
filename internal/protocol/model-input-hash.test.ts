import { describe, expect, it } from 'vitest';
import { textMessage } from './events.ts';
import {
  MessageSchema,
  type ModelCall,
  ModelCallSchema,
  ToolChoice_Mode,
} from './generated/agentsessions/v1/common_pb.ts';
import { modelInputHash } from './model-input-hash.ts';
import { create, type MessageInitShape } from './protobuf.ts';

type Init = Partial<Pick<ModelCall, 'model' | 'params' | 'id' | 'messages'>> &
  Pick<MessageInitShape<typeof ModelCallSchema>, 'tools' | 'toolChoice'>;
const call = (init: Init): ModelCall => create(ModelCallSchema, init);
const text = (value: string) => ({ part: { case: 'text' as const, value: { text: value } } });

const ALL_PARTS: Init = {
  model: 'm',
  params: { temperature: '0' },
  messages: [
    create(MessageSchema, { role: 'system', parts: [text('be brief')] }),
    create(MessageSchema, {
      role: 'user',
      parts: [
        text('hi'),
        {
          part: {
            case: 'file',
            value: {
              mime: 'image/png',
              source: { case: 'bytes', value: new Uint8Array([1, 2]) },
              name: 'img',
              digest: 'sha256:aa',
            },
          },
        },
        { part: { case: 'data', value: { data: { b: 1.5, a: 'x' } } } },
      ],
    }),
    create(MessageSchema, {
      role: 'assistant',
      parts: [
        {
          part: {
            case: 'reasoning',
            value: {
              provider: 'p',
              modelId: 'm',
              opaque: { case: 'opaqueBytes', value: Buffer.from('r') },
              itemId: 'rs_1',
              ordinal: 1,
              summary: [text('brief')],
            },
          },
        },
        text('yo'),
      ],
    }),
  ],
};

describe('published vectors', () => {
  it('a request with every part that is not a tool', () => {
    expect(modelInputHash(call(ALL_PARTS))).toBe(
      '210636379d42235ed6d7b2b1e9c7d7e59c8f887a851ec502ac50f82e36867256',
    );
  });

  it('the request of an echo turn', () => {
    expect(modelInputHash(call({ model: 'echo', messages: [textMessage('user', 'hi')] }))).toBe(
      '479bbea34c77bd4f413f938e6c7990e1deb2e3e7cadd21d3933c8bada10e61e1',
    );
  });
});

describe('what a model is offered and fed with counts', () => {
  const tools = [{ name: 'weather', description: 'd', inputSchema: { type: 'object', maxProperties: 2 } }];
  const part = (args: { city: string; days: number }, id = 'c1') => ({
    part: { case: 'toolCall' as const, value: { id, tool: 'weather', args } },
  });
  const result = (value: object) => ({
    part: { case: 'toolResult' as const, value: { id: 'c1', content: [text('sunny')], ...value } },
  });
  const base = { city: 'Paris', days: 2 };
  const request = (change: Init = {}, parts = [part(base)], results = [result({})]): string =>
    modelInputHash(
      call({
        ...ALL_PARTS,
        tools,
        toolChoice: { mode: ToolChoice_Mode.AUTO },
        ...change,
        messages: [
          ...(ALL_PARTS.messages ?? []),
          create(MessageSchema, { role: 'assistant', parts }),
          create(MessageSchema, { role: 'tool', parts: results }),
        ],
      }),
    );

  it('the order of members of arguments and schemas does not', () => {
    const turned = [{ ...tools[0], name: 'weather', inputSchema: { maxProperties: 2, type: 'object' } }];
    expect(request({ tools: turned }, [part({ days: 2, city: 'Paris' })])).toBe(request());
  });

  it.each([
    ['no tools', request({ tools: [] })],
    ['another tool', request({ tools: [...tools, { name: 'a' }] })],
    ['the order of tools', request({ tools: [{ name: 'a' }, ...tools] })],
    ['another schema', request({ tools: [{ name: 'weather', description: 'd', inputSchema: {} }] })],
    ['another mode', request({ toolChoice: { mode: ToolChoice_Mode.NONE } })],
    ['other arguments', request({}, [part({ ...base, city: 'Rome' })])],
    ['another call', request({}, [part(base, 'c2')])],
    ['another result', request({}, [part(base)], [result({ content: [text('rain')] })])],
    ['a failed result', request({}, [part(base)], [result({ isError: true })])],
  ])('%s', (_, hash) => {
    expect(hash).not.toBe(request());
  });

  it('the id of the call itself does not', () => {
    expect(request({ id: 'one' })).toBe(request({ id: 'two' }));
  });

  it('texts, numbers and the order of keys are those of encoding/json', () => {
    const data = {
      '\u{1f600}': 1,
      '\uff5e': -0,
      '<&>': '\u2028\u2029\b\f\n\u0001\x7f"\\/',
      n: [1e21, 1e-7, 123456789012345680000, 0.1, null, true, {}, []],
    };
    const message = create(MessageSchema, {
      role: 'user',
      parts: [{ part: { case: 'data', value: { data } } }],
    });
    expect(modelInputHash(call({ messages: [message] }))).toBe(
      '4b77cf59d6184793334404dccaa9277b94658d77b6e9363d023a97f8ae2317c5',
    );
  });
});
