import { HarnessRegistry } from '../../protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import { Sessions } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import type { HarnessRegistryHost, SessionsHost } from '../../session/service/sessions-host.ts';
import { callOf } from './call.ts';
import type { ConnectRouter, HandlerContext, ServiceImpl } from './connect.ts';

type Unary<Request, Reply> = (request: Request, signal: AbortSignal) => Promise<Reply>;

function unary<Request, Reply>(work: Unary<Request, Reply>) {
  return (request: Request, context: HandlerContext): Promise<Reply> =>
    callOf(context).answer(context, request, (signal) => work(request, signal));
}

function stream<Request, Item>(work: (request: Request, signal: AbortSignal) => AsyncIterable<Item>) {
  return (request: Request, context: HandlerContext): AsyncIterable<Item> =>
    callOf(context).stream(context, request, (signal) => work(request, signal));
}

export function sessionsRoutes(host: SessionsHost): (router: ConnectRouter) => void {
  return (router) => {
    router.service(Sessions, {
      createSession: unary((request, signal) => host.createSession(request, signal)),
      getSession: unary((request, signal) => host.getSession(request, signal)),
      listSessions: unary((request, signal) => host.listSessions(request, signal)),
      deleteSession: unary((request, signal) => host.deleteSession(request, signal)),
      exec: stream((request, signal) => host.exec(request, signal)),
      replay: stream((request, signal) => host.replay(request, signal)),
      approve: unary((request, signal) => host.approve(request, signal)),
      cancel: unary((request, signal) => host.cancel(request, signal)),
      suspend: unary((request, signal) => host.suspend(request, signal)),
      resume: unary((request, signal) => host.resume(request, signal)),
      fork: unary((request, signal) => host.fork(request, signal)),
    });
  };
}

export function registryRoutes(host: HarnessRegistryHost): (router: ConnectRouter) => void {
  return (router) => {
    // A misspelt field of a spec would be left out silently. Source: agentsessions.v1, unknown fields are refused.
    const methods: ServiceImpl<typeof HarnessRegistry> = {
      registerHarness: unary((request, signal) => host.registerHarness(request, signal)),
      getHarness: unary((request, signal) => host.getHarness(request, signal)),
      listHarnesses: unary((request, signal) => host.listHarnesses(request, signal)),
      retireHarness: unary((request, signal) => host.retireHarness(request, signal)),
    };
    router.service(HarnessRegistry, methods, { jsonOptions: { ignoreUnknownFields: false } });
  };
}
