/** Target URLs: what they mean, what is refused, and that no password is ever shown. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FencepostError } from '../../../src/domain/errors.ts';
import {
  displayTarget,
  parseTarget,
  redactUrl,
  urlWithoutPassword,
} from '../../../src/domain/target.ts';

function refusal(url: string): FencepostError {
  try {
    parseTarget(url);
  } catch (error) {
    if (error instanceof FencepostError) return error;
    throw error;
  }
  throw new Error(`"${url}" was accepted`);
}

describe('a target URL', () => {
  test('of a SQL server is told apart from a slip: it is not supported yet', () => {
    for (const url of ['postgres://me:secret@db/app', 'sql:file.db', 'mysql://db']) {
      const error = refusal(url);
      expect(error).toMatchObject({ code: 'target-not-supported', exitCode: 2 });
      expect(error.message).toContain('SQL targets are not supported yet');
      expect(error.message).not.toContain('secret');
    }
  });

  test('carries user name and password with every character escaped', () => {
    const target = parseTarget('redis://me%40x:p%2Fa%3Fb%23c%40d%25@host:6380/2');
    expect(target.username).toBe('me@x');
    expect(target.password?.reveal()).toBe('p/a?b#c@d%');
    expect(target.endpoints).toEqual([{ host: 'host', port: 6380 }]);
    expect(target.path).toBe('2');
  });

  test('may hold an @ in its password, because the last one before the host ends it', () => {
    expect(parseTarget('redis://me:p@ss@host').password?.reveal()).toBe('p@ss');
  });

  test('is refused, not misread, when its password holds an unescaped / ? or #', () => {
    for (const password of ['12/34', '12?34', '12#34', '1/@2', 'a/b', '/']) {
      const { message, hint } = refusal(`redis://me:${password}@host:6379/0`);
      expect(message).toBe('"redis://me:***@host:6379/0" has a character that must be escaped');
      expect(hint).toContain('%2F');
    }
  });

  test('says which escape is broken without the password around it', () => {
    expect(refusal('redis://me:100%@host').message).toBe(
      '"redis://me:***@host" has a broken %-escape',
    );
  });

  test('names no host with spaces or control characters', () => {
    expect(refusal('redis://a b').message).toContain('has no valid host');
    expect(refusal('redis://a\u001b[31mb').message).toContain('has no valid host');
  });

  test('is read back from the form that people see, without its password and options', () => {
    const target = parseTarget('zk://me:secret@a,[::1]:2182/ch%40root/%3Fx?admin=8081');
    const shown = displayTarget(target);
    expect(shown).toBe('zk://me@a:2181,[::1]:2182/ch%40root/%3Fx');
    expect(parseTarget(shown)).toEqual({ ...target, password: undefined, adminPorts: [] });
  });
});

test('all of a target but its password survives a journal', () => {
  const target = parseTarget('rediss://me:secret@a:1/3?ca=%2Fx%40y%26z&servername=n');
  const stored = urlWithoutPassword(target);
  expect(stored).not.toContain('secret');
  expect(parseTarget(stored)).toEqual({ ...target, password: undefined });
});

describe('a URL in a message', () => {
  test('shows user and host of every way to write it wrong, never the password', () => {
    const shown: Readonly<Record<string, string>> = {
      'redis://me:secret@host:6379/0': 'redis://me:***@host:6379/0',
      'redis://:secret@host': 'redis://:***@host',
      'redis://me@host': 'redis://me@host',
      'redis://me:sec ret@host': 'redis://me:***@host',
      'redis://me:a@b:c@host': 'redis://me:***@host',
      'redis://sec/ret@host': 'redis://***@host',
      'me:secret@host:6379': '***:***@host:6379',
      'secret@host': '***@host',
      'redis:/me:secret@host': '***:***@host',
      'redis://me:secret': 'redis://me:***',
      'me:secret': 'me:***',
      'redis://host?password=secret': 'redis://host?***',
      'redis://me:secret@host?password=secret#secret': 'redis://me:***@host?***',
      'postgres://me:secret@host/db': 'postgres://me:***@host/db',
      'redis://[::1]:6379/0': 'redis://[::1]:6379/0',
      'etcd://a:1,b:2,c': 'etcd://a:1,b:2,c',
      'localhost:6379': 'localhost:6379',
    };
    for (const [url, form] of Object.entries(shown)) expect(redactUrl(url)).toBe(form);
  });

  test('holds no part of a password whatever characters that has', () => {
    const password = fc.array(fc.constantFrom('Z', ':', '/', '?', '#', '@', ' ', '%', '\n'), {
      minLength: 1,
    });
    const around = fc.constantFrom('redis://me:', 'redis://:', 'REDIS://me:', 'me:', ':', '');
    fc.assert(
      fc.property(around, password, (before, chars) => {
        const url = `${before}${chars.join('')}@host`;
        expect(redactUrl(url)).not.toContain('Z');
        try {
          parseTarget(url);
        } catch (error) {
          expect(String(error)).not.toContain('Z');
        }
      }),
    );
  });
});
