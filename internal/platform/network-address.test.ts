import { describe, expect, it } from 'vitest';
import {
  addressText,
  isLoopback,
  isLoopbackLiteral,
  parseDialAddress,
  parseListenAddress,
  parseTcpAddress,
} from './network-address.ts';

describe('addresses', () => {
  it.each<[string, unknown]>([
    ['127.0.0.1:8080', { kind: 'tcp', host: '127.0.0.1', port: 8080 }],
    ['localhost:0', { kind: 'tcp', host: 'localhost', port: 0 }],
    ['[::1]:80', { kind: 'tcp', host: '::1', port: 80 }],
    [':8080', { kind: 'tcp', host: '0.0.0.0', port: 8080 }],
    ['unix:a.sock', { kind: 'unix', path: '/work/a.sock' }],
    ['unix:/run/a.sock', { kind: 'unix', path: '/run/a.sock' }],
    ['unix:///run/a.sock', { kind: 'unix', path: '/run/a.sock' }],
    ['host', undefined],
    ['host:65536', undefined],
    ['::1:80', undefined],
    ['[host]:80', undefined],
    ['-x:80', undefined],
    ['a b:80', undefined],
    ['', undefined],
  ])('to listen on: %j', (text, address) => {
    expect(parseListenAddress(text, '/work')).toEqual(address);
  });

  it.each<[string, unknown]>([
    ['h.example:1', { kind: 'tcp', host: 'h.example', port: 1 }],
    ['dns:///h.example:1', { kind: 'tcp', host: 'h.example', port: 1 }],
    ['dns://8.8.8.8/h.example:1', undefined],
    ['h.example:0', undefined],
    [':1', undefined],
    ['unix:', undefined],
    ['http://h.example:1', undefined],
  ])('to dial: %j', (text, address) => {
    expect(parseDialAddress(text, '/work')).toEqual(address);
  });

  it('are written as they are read', () => {
    for (const text of ['127.0.0.1:1', '[::1]:2', 'h.example:3']) {
      const address = parseTcpAddress(text);
      expect(address && addressText(address)).toBe(text);
    }
    expect(addressText({ kind: 'unix', path: '/a' })).toBe('unix:/a');
  });

  it('of this machine only', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1'].map(isLoopbackLiteral)).toEqual([true, true, true]);
    expect(['localhost', '0.0.0.0', '::', '128.0.0.1', '127.evil.example'].map(isLoopbackLiteral)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
    expect(isLoopback('LocalHost')).toBe(true);
  });
});
