import assert from 'node:assert/strict';
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { commitTree } from './commit-tree.ts';
import { replaceFileDurable, replaceSymlinkDurable, writeFileDurable } from './file.ts';
import { loadLibc, loadNodeFfi } from './libc.ts';
import { nativeCalls, syscallNumbers } from './linux.ts';
import { nodeOps } from './node-ops.ts';
import { tapOps } from './ops.ts';
import { removeTreeDurable } from './remove-tree.ts';
import { syncDir } from './sync-dir.ts';
import { scratch } from './testing/scratch.ts';

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
const skip = isRoot ? false : 'another owner needs root on Linux';

const described = async (path: string): Promise<string> => {
  const { mode, uid, gid } = await stat(path);
  return `${(mode & 0o7777).toString(8)} ${uid}:${gid}`;
};

async function put(path: string, mode: number, owner: number): Promise<void> {
  await writeFile(path, 'old');
  await chown(path, owner, owner + 1);
  await chmod(path, mode);
}

const ACL = 'system.posix_acl_access';

/** An ACL by which user 1234 may read and write (linux/posix_acl_xattr.h): version 2, then tag, permissions, id. */
function acl(): Buffer {
  const entries = [
    [0x01, 6, 0xffffffff],
    [0x02, 6, 1234],
    [0x04, 0, 0xffffffff],
    [0x10, 6, 0xffffffff],
    [0x20, 0, 0xffffffff],
  ];
  const bytes = Buffer.alloc(4 + 8 * entries.length);
  bytes.writeUInt32LE(2);
  for (const [index, [tag = 0, permissions = 0, id = 0]] of entries.entries()) {
    bytes.writeUInt16LE(tag, 4 + 8 * index);
    bytes.writeUInt16LE(permissions, 6 + 8 * index);
    bytes.writeUInt32LE(id, 8 + 8 * index);
  }
  return bytes;
}

/** Extended attributes by path, on the machine. */
async function attributes() {
  const { now } = await loadLibc();
  const numbers = syscallNumbers(process.platform, process.arch);
  assert.ok(numbers !== undefined);
  const call = now(['long', 'str', 'str', 'void *', 'size_t', 'int']);
  return {
    set: (path: string, name: string, value: Buffer) =>
      assert.equal(call([numbers.fsetxattr - 1, path, name, value, value.length, 0]).code, ''),
    get: (path: string, name: string): Buffer | undefined => {
      const room = Buffer.alloc(256);
      const { result } = call([numbers.lgetxattr, path, name, room, room.length, 0]);
      return result < 0 ? undefined : room.subarray(0, result);
    },
  };
}

test('SAFE-14 replacing a file keeps its mode and owner, in place too; a mode that is told is set; what is new is 0600', {
  skip,
}, async () => {
  await using dir = await scratch();
  for (const write of [replaceFileDurable, writeFileDurable]) {
    await put(dir.at('f'), 0o600, 1234);
    await write(dir.at('f'), 'new');
    assert.equal(await described(dir.at('f')), '600 1234:1235', write.name);
    await write(dir.at('f'), 'newer', { mode: 0o640 });
    assert.equal(await described(dir.at('f')), '640 1234:1235', write.name);
    assert.equal(await readFile(dir.at('f'), 'utf8'), 'newer');
    await write(dir.at(write.name), 'secret');
    assert.equal(await described(dir.at(write.name)), '600 0:0', write.name);
  }
  await replaceFileDurable(dir.at('f'), 'fresh', { attributes: 'fresh' });
  assert.equal(await described(dir.at('f')), '640 0:0');
});

test('SAFE-14 replacing a directory keeps the mode and owner of it and of each file that was there; what is new is 0600', {
  skip,
}, async () => {
  await using dir = await scratch();
  await mkdir(dir.at('t'));
  await put(dir.at('t/a'), 0o400, 1234);
  await chown(dir.at('t'), 1234, 1235);
  await chmod(dir.at('t'), 0o700);
  const result = await syncDir({
    target: dir.at('t'),
    files: new Map([
      ['a', { content: 'x' }],
      ['b', { content: 'y' }],
    ]),
  });
  assert.equal(result.changed, true);
  const all = async (...names: string[]) => Promise.all(names.map((name) => described(dir.at(name))));
  assert.deepEqual(await all('t', 't/a', 't/b'), ['700 1234:1235', '400 1234:1235', '600 0:0']);
  const equal = await syncDir({
    target: dir.at('t'),
    files: new Map([
      ['a', { content: 'x' }],
      ['b', { content: 'y' }],
    ]),
  });
  assert.equal(equal.changed, false);
  await syncDir({ target: dir.at('t'), mode: 0o755, files: new Map([['a', { content: 'x', mode: 0o644 }]]) });
  assert.deepEqual(await all('t', 't/a'), ['755 1234:1235', '644 1234:1235']);
  await commitTree({ dir: dir.at('tree'), files: new Map([['d/a', { content: 'x' }]]) });
  assert.deepEqual(await all('tree', 'tree/d', 'tree/d/a'), ['755 0:0', '755 0:0', '600 0:0']);
});

test('SAFE-14 ACLs and extended attributes are kept, and one that a new file inherits where the old one had none is taken off', {
  skip,
}, async () => {
  await using dir = await scratch();
  const xattr = await attributes();
  await mkdir(dir.at('t'));
  for (const path of ['f', 't/a']) {
    await put(dir.at(path), 0o600, 0);
    xattr.set(dir.at(path), 'user.note', Buffer.from('kept'));
    xattr.set(dir.at(path), ACL, acl());
  }
  xattr.set(dir.at('t'), 'user.note', Buffer.from('of the directory'));
  await put(dir.at('bare'), 0o640, 0);
  // From now on whatever is made here lets user 1234 in.
  xattr.set(dir.path, 'system.posix_acl_default', acl());
  await replaceFileDurable(dir.at('f'), 'new');
  await replaceFileDurable(dir.at('bare'), 'new');
  await syncDir({ target: dir.at('t'), files: new Map([['a', { content: 'new' }]]) });
  for (const path of ['f', 't/a']) {
    assert.equal(xattr.get(dir.at(path), 'user.note')?.toString(), 'kept', path);
    assert.deepEqual(xattr.get(dir.at(path), ACL), acl(), path);
    assert.equal(await readFile(dir.at(path), 'utf8'), 'new');
  }
  assert.equal(xattr.get(dir.at('t'), 'user.note')?.toString(), 'of the directory');
  assert.equal(xattr.get(dir.at('t'), 'system.posix_acl_default'), undefined);
  assert.equal(xattr.get(dir.at('bare'), ACL), undefined);
  assert.equal(await described(dir.at('bare')), '640 0:1');
  // An ACL brings a mode of its own; what the caller says holds.
  await replaceFileDurable(dir.at('f'), 'secret', { mode: 0o600 });
  assert.equal(await described(dir.at('f')), '600 0:1');
});

test('SAFE-14 an owner that cannot be kept is an error, and the old content stays', async () => {
  await using dir = await scratch();
  await writeFile(dir.at('f'), 'old');
  const ops = tapOps(nodeOps, (call, run) =>
    call.op === 'adopt' ? Promise.reject(Object.assign(new Error('EPERM: fchown'), { code: 'EPERM' })) : run(),
  );
  await assert.rejects(replaceFileDurable(dir.at('f'), 'new', { ops }), {
    code: 'WRITE_FAILED',
    visible: 'old',
    errno: 'EPERM',
  });
  assert.equal(await readFile(dir.at('f'), 'utf8'), 'old');
  assert.deepEqual(await readdir(dir.path), ['f']);
  await replaceFileDurable(dir.at('f'), 'new', { ops, attributes: 'fresh' });
});

test('SAFE-14 a target that is called . or .. is refused before anything is touched', async () => {
  await using dir = await scratch();
  await mkdir(dir.at('a/b'), { recursive: true });
  for (const at of ['.', '..', './', `${dir.path}/a/b/..`, `${dir.path}/a/.`, `${dir.path}/a/..//`]) {
    const refused = { code: 'INVALID', stage: 'validate' } as const;
    await assert.rejects(syncDir({ target: at, files: new Map() }), refused, at);
    await assert.rejects(commitTree({ dir: at, files: new Map() }), refused, at);
    await assert.rejects(removeTreeDurable(at, dir.path), refused, at);
    await assert.rejects(replaceFileDurable(at, 'x'), refused, at);
    await assert.rejects(writeFileDurable(at, 'x'), refused, at);
    await assert.rejects(replaceSymlinkDurable(at, 'x'), refused, at);
  }
  assert.deepEqual(await readdir(dir.path, { recursive: true }), ['a', 'a/b']);
});

const ffi = await loadNodeFfi().then(
  () => false,
  () => 'this Node has no FFI of its own',
);

test("TRUTH-8 where koffi has no build, Node's own FFI makes the same calls", {
  skip: process.platform === 'linux' ? ffi : 'Linux',
}, async () => {
  await using dir = await scratch();
  const { later, now } = await loadNodeFfi();
  const calls = nativeCalls(process.platform, process.arch, async () => later);
  for (const name of ['x', 'y']) await mkdir(dir.at(name));
  await writeFile(dir.at('x/a'), 'a');
  await calls.exchange(dir.at('x'), dir.at('y'));
  assert.deepEqual(await readdir(dir.at('y')), ['a']);
  await assert.rejects(calls.exchange(dir.at('x'), dir.at('none')), { code: 'ENOENT' });
  const [one, two] = [
    await nodeOps.open(dir.at('lock'), 'lock', 0o600),
    await nodeOps.open(dir.at('lock'), 'lock', 0o600),
  ];
  assert.deepEqual([await calls.tryLock(one.fd), await calls.tryLock(two.fd)], [true, false]);
  await calls.writeback(one.fd);
  await calls.syncfs(one.fd);
  const numbers = syscallNumbers(process.platform, process.arch);
  const answer = now(['long', 'int', 'void *', 'size_t'])([numbers?.flistxattr ?? 0, one.fd, Buffer.alloc(256), 256]);
  assert.equal(answer.code, '');
  for (const file of [one, two]) await nodeOps.close(file);
});

test('FIND-13: new content has neither setuid, setgid nor file capabilities, as after a write; a mode that is told is set, and a directory keeps its setgid', {
  skip,
}, async () => {
  await using dir = await scratch();
  const { set, get } = await attributes();
  // VFS_CAP_REVISION_2 with cap_net_bind_service (linux/capability.h).
  const capability = Buffer.from('0100000200040000000000000000000000000000', 'hex');
  for (const write of [replaceFileDurable, writeFileDurable]) {
    await put(dir.at('f'), 0o6755, 1234);
    set(dir.at('f'), 'security.capability', capability);
    await write(dir.at('f'), 'new');
    assert.equal(await described(dir.at('f')), '755 1234:1235', write.name);
    assert.equal(get(dir.at('f'), 'security.capability'), undefined, write.name);
    await write(dir.at('f'), 'newer', { mode: 0o4755 });
    assert.equal(await described(dir.at('f')), '4755 1234:1235', write.name);
  }
  assert.equal((await replaceFileDurable(dir.at('f'), 'newer', { unlessEqual: true })).changed, false);
  assert.equal(await described(dir.at('f')), '4755 1234:1235', 'content that stays is no new content');
  await mkdir(dir.at('d'));
  await put(dir.at('d/f'), 0o4755, 1234);
  await chmod(dir.at('d'), 0o2755);
  await syncDir({ target: dir.at('d'), files: new Map([['f', { content: 'new' }]]) });
  assert.equal(await described(dir.at('d')), '2755 0:0');
  assert.equal(await described(dir.at('d/f')), '755 1234:1235');
});
