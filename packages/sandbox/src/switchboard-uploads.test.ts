import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backends, lease, method, reset, skips, start, THIS, value } from './testing/simulator.ts';

for (const backend of backends)
  test(`${backend}: an upload is held after n bytes, cut after n bytes, and an aborted lease leaves no VM`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    const bytes = Buffer.alloc(300_000, 7);
    const { id, url } = await lease(sim, client, 'imported');

    await using holding = await board.rule({ on: 'upload', do: 'hold', afterBytes: 100_000, times: 1 });
    const upload = client.put(url, bytes);
    await holding.held();
    const [seen] = (await board.uploads()).uploads;
    assert.deepEqual([seen?.state, seen?.bytes], ['held', 100_000]);
    await holding.release();
    assert.equal(await upload, 200);
    const manifest = await client.call(method('HttpNfcLeaseGetManifest', THIS('HttpNfcLease', id)));
    // As of a download; see `uploadManifest`.
    assert.equal(value(manifest, 'size'), '1300000');

    await using _cut = await board.rule({ on: 'upload', do: 'drop-upload', afterBytes: 50_000, times: 1 });
    await assert.rejects(
      client.put(url, bytes),
      (error: Error & { code?: string }) => reset(error) || error.code === 'EPIPE',
    );
    assert.deepEqual(
      (await board.uploads()).uploads.map((u) => [u.state, u.bytes]),
      [
        ['done', 300_000],
        ['dropped', 50_000],
      ],
    );

    await using _slow = await board.rule({ on: 'upload', do: 'throttle', bytesPerSecond: 1_000_000, times: 1 });
    const started = performance.now();
    assert.equal(await client.put(url, bytes), 200);
    assert.ok(performance.now() - started > 200, 'throttled');

    assert.deepEqual(
      (await board.vms()).map((vm) => vm.name),
      ['imported'],
    );
    assert.equal((await client.call(method('HttpNfcLeaseAbort', THIS('HttpNfcLease', id)))).status, 200);
    assert.deepEqual(await board.vms(), []);

    const left = await lease(sim, client, 'left');
    await board.setOptions({ destroyOnAbort: false });
    await client.call(method('HttpNfcLeaseAbort', THIS('HttpNfcLease', left.id)));
    assert.deepEqual(
      (await board.vms()).map((vm) => vm.name),
      ['left'],
    );
  });

for (const backend of backends)
  test(`${backend}: an upload is held before its first byte, and after its last one before the answer`, {
    skip: skips(backend),
  }, async () => {
    await using sim = await start(backend);
    const { board } = sim;
    const client = sim.client();
    await client.login();
    const bytes = Buffer.alloc(100_000, 7);
    const { url } = await lease(sim, client, 'held');
    for (const [acted, read] of [
      [false, 0],
      [true, 100_000],
    ] as const) {
      await board.resetUploads();
      await using holding = await board.rule({ on: 'upload', do: 'hold', acted, times: 1 });
      const upload = client.put(url, bytes);
      await holding.held();
      const [seen] = (await board.uploads()).uploads;
      assert.deepEqual([seen?.state, seen?.bytes], ['held', read]);
      await holding.release();
      assert.equal(await upload, 200);
    }
  });
