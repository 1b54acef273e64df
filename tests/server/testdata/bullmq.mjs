// Measures BullMQ: from add() to the processor that has the job. Words: the directory with
// node_modules, the socket of a Redis of our own, how many jobs. It prints a JSON list of
// milliseconds for each of three: until add() answers, until the processor begins, and
// until a program that the processor starts (true) is over.
import { createRequire } from 'node:module';
import { spawn } from 'node:child_process';

const [dir, path, count] = process.argv.slice(2);
const require = createRequire(dir + '/');
const { Queue, Worker } = require('bullmq');
const connection = { path, maxRetriesPerRequest: null };
const queue = new Queue('bench', { connection });
const waiting = new Map();
const worker = new Worker('bench', async job => {
  const began = performance.now();
  await new Promise((resolve, reject) => spawn('/bin/true').on('exit', resolve).on('error', reject));
  waiting.get(job.data.n)({ began, over: performance.now() });
}, { connection });
await worker.waitUntilReady();
const answered = [], began = [], over = [];
for (let n = 0; n < Number(count); n++) {
  const done = new Promise(resolve => waiting.set(n, resolve));
  const asked = performance.now();
  await queue.add('job', { n });
  answered.push(performance.now() - asked);
  const at = await done;
  began.push(at.began - asked);
  over.push(at.over - asked);
}
await worker.close();
await queue.close();
console.log(JSON.stringify({ answered, began, over, version: require('bullmq/package.json').version }));
