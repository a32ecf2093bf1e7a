// Load of an etcd cluster, with the arguments of benchmarks/cluster/load.py: client endpoints, bytes of a value, puts to warm up, puts one
// after another, puts of the throughput, puts in flight. Prints one JSON object.
//
// A put in flight is a goroutine that waits for its answer; all share one connection to the leader. Each writes its own key again and again,
// so that the store does not grow.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func main() {
	var numbers []int
	for _, text := range os.Args[2:] {
		number, err := strconv.Atoi(text)
		check(err)
		numbers = append(numbers, number)
	}
	value := strings.Repeat("x", numbers[0])
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(os.Args[1], ","), DialTimeout: time.Minute})
	check(err)
	defer client.Close()

	roundTrips(client, value, numbers[1])
	samples := roundTrips(client, value, numbers[2])
	throughput(client, value, numbers[3], numbers[4])
	check(json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"p50_us":         at(samples, 0.5),
		"p99_us":         at(samples, 0.99),
		"messages_per_s": throughput(client, value, numbers[3], numbers[4]),
	}))
}

func roundTrips(client *clientv3.Client, value string, count int) []time.Duration {
	samples := make([]time.Duration, count)
	for i := range samples {
		begin := time.Now()
		put(client, 0, value)
		samples[i] = time.Since(begin)
	}
	sort.Slice(samples, func(i, j int) bool { return samples[i] < samples[j] })
	return samples
}

func throughput(client *clientv3.Client, value string, messages, inFlight int) float64 {
	var sent atomic.Int64
	var group sync.WaitGroup
	begin := time.Now()
	for key := 0; key < inFlight; key++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for sent.Add(1) <= int64(messages) {
				put(client, key, value)
			}
		}()
	}
	group.Wait()
	return float64(messages) / time.Since(begin).Seconds()
}

func put(client *clientv3.Client, key int, value string) {
	_, err := client.Put(context.Background(), strconv.Itoa(key), value)
	check(err)
}

func at(sorted []time.Duration, share float64) float64 {
	return float64(sorted[int(float64(len(sorted)-1)*share+0.5)].Nanoseconds()) / 1e3
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
