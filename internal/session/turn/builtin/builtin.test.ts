import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../platform/fake-clock.ts';
import { textMessage, textOf } from '../../../protocol/events.ts';
import {
  MessageSchema,
  type ModelCall,
  ModelCallSchema,
  PartSchema,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create, type MessageInitShape } from '../../../protocol/protobuf.ts';
import { never, TurnRig } from '../testing/turn-rig.ts';
import { chatHarness } from './chat-harness.ts';
import { echoHarness } from './echo-harness.ts';
import { echoModel } from './echo-model.ts';
import { MODEL_TIMEOUT_MS, type OpenAiModelOptions, openAiModel } from './openai-model.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('the echo harness', () => {
  it('says what it is', async () => {
    expect(await echoHarness.describe(never)).toMatchObject({
      id: 'echo',
      version: '1',
      models: ['echo'],
      capabilities: { resumability: 1, forkSafe: true },
    });
  });

  it('three turns, each in a new host, echo what they got', async () => {
    let rig = new TurnRig(echoHarness);
    for (const text of ['one', 'two', 'three']) {
      rig.model.complete = echoModel.complete;
      await rig.run(text);
      rig = await rig.cutAfter(100, { seed: text });
    }
    const outputs = (await rig.records()).flatMap(({ event: { kind, body } }) =>
      kind === 3 && body.case === 'message' ? [textOf(body.value)] : [],
    );
    expect(outputs).toEqual(['echo:one', 'echo:two', 'echo:three']);
  });
});

describe('the chat harness', () => {
  it('asks with the system prompt, what was said before, and the inputs', async () => {
    const rig = new TurnRig(chatHarness({ model: 'm' }));
    await rig.run('one');
    await rig.run('two', { config: bytes('{"system_prompt":"be brief","other":1}') });
    expect(rig.model.calls[1]?.messages.map((each) => `${each.role}: ${textOf(each)}`)).toEqual([
      'system: be brief',
      'user: one',
      'assistant: answer 1',
      'user: two',
    ]);
  });

  it.each(['{', 'null', '[]', '{"system_prompt":3}', '\xff'])(
    'refuses the config %j before it asks',
    async (config) => {
      const rig = new TurnRig(chatHarness({ model: 'm' }));
      const given = config === '\xff' ? new Uint8Array([0xff]) : bytes(config);
      await expect(rig.run('one', { config: given })).rejects.toThrow(/config of a chat turn/);
      expect(rig.model.calls).toEqual([]);
    },
  );
});

const KEY = 'sk-very-secret';

interface Asked {
  readonly url: string;
  readonly init: RequestInit;
}

function modelWith(
  answer: (asked: Asked) => Response | Promise<Response>,
  change: Partial<OpenAiModelOptions> = {},
) {
  const asked: Asked[] = [];
  const clock = new FakeClock();
  const model = openAiModel({
    model: 'gpt',
    apiKey: KEY,
    stream: false,
    clock,
    fetch: async (url, init) => {
      asked.push({ url, init });
      return await answer({ url, init });
    },
    ...change,
  });
  return { model, asked, clock };
}

const ok = (content: object = { content: 'hello' }) =>
  Response.json({
    model: 'gpt-1',
    choices: [{ message: { role: 'assistant', ...content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 1 } },
  });

const call = (init: MessageInitShape<typeof ModelCallSchema> = {}): ModelCall =>
  create(ModelCallSchema, { messages: [textMessage('user', 'hi')], ...init });

const stream = (...pieces: string[]): Response =>
  new Response(
    new ReadableStream({
      start: (controller) => {
        for (const piece of pieces) controller.enqueue(bytes(piece));
        controller.close();
      },
    }),
  );

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ delta, finish_reason: finish }] })}\n\n`;

const failed = expect.objectContaining({ code: 'model-failed' });

describe('a model behind the OpenAI protocol', () => {
  it('is asked with texts, and its answer, reasoning and usage come back', async () => {
    const { model, asked } = modelWith(() => ok({ content: 'hello', reasoning_content: 'hm' }));
    const result = await model.complete(
      call({ model: 'echo', params: { temperature: '0.5', stop: 'END' } }),
      {
        signal: never,
      },
    );
    expect(asked[0]?.url).toBe('https://api.openai.com/v1/chat/completions');
    expect(asked[0]?.init).toMatchObject({
      method: 'POST',
      headers: { Authorization: `Bearer ${KEY}` },
      redirect: 'error',
    });
    expect(JSON.parse(String(asked[0]?.init.body))).toEqual({
      model: 'gpt',
      messages: [{ role: 'user', content: 'hi' }],
      stream: false,
      temperature: 0.5,
      stop: 'END',
    });
    expect(result).toMatchObject({
      message: {
        role: 'assistant',
        parts: [
          {
            part: {
              case: 'reasoning',
              value: { provider: 'openai', modelId: 'gpt-1', opaque: { case: 'opaqueBytes' } },
            },
          },
          { part: { case: 'text', value: { text: 'hello' } } },
        ],
      },
      usage: { model: 'gpt-1', inputTokens: 3n, outputTokens: 2n, reasoningTokens: 1n },
    });
  });

  it('a model that a call names is asked, another header carries the bare key, and a path may have a query', async () => {
    const { model, asked } = modelWith(() => ok(), {
      authHeader: 'api-key',
      baseUrl: 'http://127.0.0.1:9/v2/',
      path: '/chat?version=1',
    });
    await model.complete(call({ model: 'special' }), { signal: never });
    expect(asked[0]).toMatchObject({
      url: 'http://127.0.0.1:9/v2/chat?version=1',
      init: { headers: { 'api-key': KEY } },
    });
    expect(JSON.parse(String(asked[0]?.init.body)).model).toBe('special');
  });

  it('answers in pieces come as they are said, whatever the network cuts them into', async () => {
    const whole = `${chunk({ content: 'he' })}: comment\n\n${chunk({ content: 'llö' }, 'stop')}data: [DONE]\n\n`;
    const pieces = [...bytes(whole)].map((byte) => Uint8Array.of(byte));
    const { model, asked } = modelWith(
      () =>
        new Response(
          new ReadableStream({
            start: (controller) => {
              for (const piece of pieces) controller.enqueue(piece);
              controller.close();
            },
          }),
        ),
      { stream: true },
    );
    const heard: string[] = [];
    const result = await model.complete(call(), { signal: never, delta: (piece) => heard.push(piece) });
    expect([heard, textOf(result.message)]).toEqual([['he', 'llö'], 'hellö']);
    expect(JSON.parse(String(asked[0]?.init.body)).stream_options).toEqual({ include_usage: true });
  });

  it.each([
    ['is cut off', () => stream(chunk({ content: 'he' })), /cut off/],
    ['fails in the middle', () => stream(`data: {"error":{"message":"overloaded"}}\n\n`), /overloaded/],
    ['is no JSON', () => stream('data: {\n\n'), /not JSON/],
    ['calls tools', () => stream(chunk({ tool_calls: [{}] })), /tools/],
  ])('an answer in pieces that %s is no answer', async (_, answer, why) => {
    const { model } = modelWith(answer, { stream: true });
    await expect(model.complete(call(), { signal: never })).rejects.toThrow(why);
  });

  it('a refusal is told without the key', async () => {
    const { model } = modelWith(() => new Response(`bad key ${KEY}`, { status: 401 }));
    const error = await model.complete(call(), { signal: never }).catch((caught) => caught);
    expect(error).toEqual(failed);
    expect(String(error)).toMatch(/401: bad key \[key\]/);
  });

  it('a server that is not there is told, without the key', async () => {
    const { model } = modelWith(() =>
      Promise.reject(new TypeError('fetch failed', { cause: new Error(`refused ${KEY}`) })),
    );
    const error = await model.complete(call(), { signal: never }).catch((caught) => caught);
    expect(String(error)).toMatch(/fetch failed: refused \[key\]/);
    expect(error.cause).toBeUndefined();
  });

  it.each([
    create(PartSchema, { part: { case: 'file', value: { mime: 'a/b' } } }),
    create(PartSchema, { part: { case: 'data', value: { data: {} } } }),
    create(PartSchema, { part: { case: 'toolCall', value: { id: 'x' } } }),
  ])('a part of another kind is refused before anything is sent: $part.case', async (part) => {
    const { model, asked } = modelWith(() => ok());
    const message = create(MessageSchema, { role: 'user', parts: [part] });
    await expect(model.complete(call({ messages: [message] }), { signal: never })).rejects.toMatchObject({
      code: 'model-unsupported',
    });
    expect(asked).toEqual([]);
  });

  it('reasoning of before is not sent, tools and reserved parameters are refused', async () => {
    const { model, asked } = modelWith(() => ok());
    const before = create(MessageSchema, {
      role: 'assistant',
      parts: [
        { part: { case: 'reasoning', value: { provider: 'p' } } },
        { part: { case: 'text', value: { text: 'a' } } },
      ],
    });
    await model.complete(call({ messages: [before] }), { signal: never });
    expect(JSON.parse(String(asked[0]?.init.body)).messages).toEqual([{ role: 'assistant', content: 'a' }]);
    for (const init of [{ tools: [{ name: 't' }] }, { params: { stream: 'true' } }])
      await expect(model.complete(call(init), { signal: never })).rejects.toMatchObject({
        code: 'model-unsupported',
      });
  });

  it('is given up after two minutes, and at once when the turn is canceled', async () => {
    const waiting = ({ init }: Asked) =>
      new Promise<Response>((_, reject) => {
        init.signal?.addEventListener('abort', () => reject(new Error('aborted')));
      });
    const slow = modelWith(waiting);
    const late = expect(slow.model.complete(call(), { signal: never })).rejects.toThrow(/within 120 s/);
    await slow.clock.advance(MODEL_TIMEOUT_MS);
    await late;

    const stop = new AbortController();
    const canceled = expect(
      modelWith(waiting).model.complete(call(), { signal: stop.signal }),
    ).rejects.toThrow(/enough/);
    await Promise.resolve();
    stop.abort(new Error('enough'));
    await canceled;
  });

  it('an endless answer is cut at its limits', async () => {
    const endless = (piece: Uint8Array) => () =>
      new Response(new ReadableStream({ pull: (controller) => controller.enqueue(piece) }));
    const block = new Uint8Array(4 * 1024 * 1024).fill(0x20);
    const plain = modelWith(endless(block)).model.complete(call(), { signal: never });
    await expect(plain).rejects.toThrow(/the answer is over/);
    const line = modelWith(endless(block), { stream: true }).model.complete(call(), { signal: never });
    await expect(line).rejects.toThrow(/a line of the answer is over/);
  });
});
