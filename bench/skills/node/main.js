const { writeFileSync } = require('node:fs');

const { numbers } = JSON.parse(process.env.SANDBOX_INPUT);
const sum = numbers.reduce((total, number) => total + number, 0);
writeFileSync(process.env.SANDBOX_OUTPUT, JSON.stringify({ count: numbers.length, sum, largest: Math.max(...numbers) }));
