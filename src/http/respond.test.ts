import { describe, expect, test } from 'vitest';
import { corsHeaders } from './respond.ts';

describe('corsHeaders', () => {
  test('names a permitted origin, with credentials and private network access', () => {
    expect(corsHeaders('http://localhost:3000', 'credentials')).toEqual({
      'access-control-allow-origin': 'http://localhost:3000',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': '*, GET, POST, DELETE, OPTIONS, HEAD, PUT',
      'access-control-allow-headers':
        '*, Accept, Content-Type, Content-Length, Cache-Control, Accept-Encoding, X-CSRF-Token, Client-Agent, X-Fields, Content-Type, Authorization, X-Requested-With, X-HTTP-Method-Override, apikey, genkey',
      'access-control-allow-private-network': 'true',
      'access-control-expose-headers':
        'x-request-id, request-id, retry-after, x-parley-ignored, x-parley-dropped-tokens, x-parley-compacted, x-parley-warnings, ' +
        'x-parley-resumable, openai-poll-after-ms',
      vary: 'Origin',
    });
  });

  test('names an unknown origin that may send a key, without credentials', () => {
    const headers = corsHeaders('https://elsewhere.example', 'plain', 'authorization');
    expect(headers['access-control-allow-origin']).toBe('https://elsewhere.example');
    expect(headers['access-control-allow-headers']).toMatch(/, authorization$/);
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  test('sends * and no credentials without an Origin header', () => {
    const headers = corsHeaders(undefined, 'plain');
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  test('allows the requested headers by name', () => {
    const asked = 'authorization,anthropic-version, x-stainless-arch';
    const headers = corsHeaders('http://localhost:3000', 'credentials', asked);
    expect(headers['access-control-allow-headers']).toMatch(
      /, genkey, authorization, anthropic-version, x-stainless-arch$/,
    );
  });

  test('does not repeat an invalid header name', () => {
    const headers = corsHeaders('http://localhost:3000', 'credentials', 'x-ok, bad name, <b>, \r\nx: y, ');
    expect(headers['access-control-allow-headers']).toMatch(/, genkey, x-ok$/);
  });

  test('sends no permission to a rejected origin', () =>
    expect(corsHeaders('https://elsewhere.example', 'none')).toEqual({ vary: 'Origin' }));
});
