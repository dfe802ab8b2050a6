/** The one place where the RPC library is imported. */
export {
  Code,
  ConnectError,
  type ConnectRouter,
  createClient,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
  type Transport,
} from '@connectrpc/connect';
