/** Where programs inside find the proxy. The guest's relay listens there and joins every connection with the sandbox's channel. */

export const proxyPort = 3128;
const proxy = `http://127.0.0.1:${proxyPort}`;
/** Where programs inside see the folder of the channel. */
export const channelFolder = '/.skillbox/box';
const direct = 'localhost,127.0.0.1,::1';

/** For every program of a sandbox with a channel; what the caller sets wins. */
export const proxyEnv: Readonly<Record<string, string>> = {
  HTTP_PROXY: proxy,
  HTTPS_PROXY: proxy,
  http_proxy: proxy,
  https_proxy: proxy,
  NO_PROXY: direct,
  no_proxy: direct,
  // Node reads the variables above only when it is told to.
  NODE_USE_ENV_PROXY: '1',
};
